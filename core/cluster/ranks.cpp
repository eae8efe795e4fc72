#include "core/cluster/ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/cluster/mpi_door.h"

namespace lpes::cluster {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "liblpes_mpi.so";

int numberIn(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::atoi(text);
}

/// Beside the program, or in the library folder beside its own.
Result<fs::path> findLibrary(const Start& start) {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& path : {folder / kLibrary, folder.parent_path() / "lib" / "lpes" / kLibrary}) {
        if (fs::is_regular_file(path, error)) return path;
    }
    return fail(ErrorCode::Unsupported,
                fmt::format("{} started {} processes, but this lpes was built without MPI; start it once without {}, "
                            "or build it with -DLPES_MPI=ON",
                            start.launcher, start.ranks, start.launcher));
}

}  // namespace

std::optional<Start> startOfThisProcess() {
    const struct {
        const char *launcher, *ranks, *rank;
    } launchers[] = {{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                     {"mpirun", "PMI_SIZE", "PMI_RANK"},
                     {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    for (const auto& one : launchers) {
        if (std::getenv(one.rank) == nullptr || std::getenv(one.ranks) == nullptr) continue;
        const int ranks = numberIn(one.ranks);
        return ranks > 1 ? std::optional(Start{one.launcher, ranks}) : std::nullopt;
    }
    return std::nullopt;
}

/// The loaded library. It stays loaded: MPI's own libraries do not bear being unloaded.
struct MpiRanks::Door {
    decltype(&lpes_mpi_join) join = nullptr;
    decltype(&lpes_mpi_broadcast) broadcast = nullptr;
    decltype(&lpes_mpi_leave) leave = nullptr;

    [[nodiscard]] static Result<std::unique_ptr<Door>> open(const fs::path& path) {
        // Global, because Open MPI's plugins look for its names.
        void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (library == nullptr) {
            const char* why = ::dlerror();
            return fail(ErrorCode::Unsupported, "MPI's libraries cannot be loaded; install libopenmpi3 (Debian)",
                        why == nullptr ? "" : why);
        }
        auto door = std::make_unique<Door>();
        door->join = reinterpret_cast<decltype(join)>(::dlsym(library, "lpes_mpi_join"));
        door->broadcast = reinterpret_cast<decltype(broadcast)>(::dlsym(library, "lpes_mpi_broadcast"));
        door->leave = reinterpret_cast<decltype(leave)>(::dlsym(library, "lpes_mpi_leave"));
        if (door->join == nullptr || door->broadcast == nullptr || door->leave == nullptr) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("'{}' belongs to another version of lpes; build both anew", path.string()));
        }
        return door;
    }
};

MpiRanks::MpiRanks(std::unique_ptr<Door> door, int rank, int count)
    : m_door(std::move(door)), m_rank(rank), m_count(count) {}

Result<std::unique_ptr<MpiRanks>> MpiRanks::join() {
    const std::optional<Start> start = startOfThisProcess();
    if (!start) return std::unique_ptr<MpiRanks>();
    const auto path = findLibrary(*start);
    if (!path) return fail(path.error());
    auto door = Door::open(*path);
    if (!door) return fail(door.error());
    int rank = 0, count = 0;
    if (const int error = (*door)->join(&rank, &count); error != 0) {
        return fail(ErrorCode::Failed,
                    fmt::format("MPI does not start under {}; try a small MPI program first", start->launcher),
                    fmt::format("MPI's error {}", error));
    }
    if (count != start->ranks) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("{} started {} processes but MPI sees {}; start with the launcher of the MPI that lpes "
                                "was built with (Open MPI's mpirun, or srun --mpi=pmix)",
                                start->launcher, start->ranks, count));
    }
    return std::unique_ptr<MpiRanks>(new MpiRanks(std::move(*door), rank, count));
}

MpiRanks::~MpiRanks() {
    if (m_rank == 0) dismiss();
}

void MpiRanks::dismiss() {
    // Whoever cannot be told ends with the launcher.
    if (m_door) (void)tell(toText({}));
}

Result<std::string> MpiRanks::tell(const std::string& text) {
    std::array<char, kLpesMpiText> buffer{};
    if (text.size() >= buffer.size()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("this machine has too many network addresses to tell ({} bytes)", text.size()));
    }
    std::memcpy(buffer.data(), text.data(), text.size());
    const std::unique_ptr<Door> door = std::move(m_door);
    const int told = door->broadcast(buffer.data());
    const int left = door->leave();
    if (told != 0 || left != 0) {
        return fail(ErrorCode::Failed, "MPI cannot reach the other ranks",
                    fmt::format("MPI's errors {} and {}", told, left), kLostPeerContext);
    }
    return std::string(buffer.data());
}

Result<Channels> MpiRanks::gather(int connections, std::stop_token stop) {
    auto host = Host::open(connections);
    if (!host) return fail(host.error());
    if (auto told = tell(toText((*host)->invitation())); !told) return fail(told.error());
    return (*host)->gather(m_count, stop);
}

Result<Channels> MpiRanks::attend() {
    const auto text = tell({});
    if (!text) return fail(text.error());
    const auto invitation = invitationFromText(*text);
    if (!invitation) return fail(invitation.error());
    return visit(*invitation, m_rank);
}

}  // namespace lpes::cluster
