#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/result.h"
#include "core/cluster/rendezvous.h"

/// The processes that mpirun or srun started this program as.
namespace lpes::cluster {

/// What an environment says about how this process was started.
struct Start {
    std::string launcher;  ///< "mpirun" or "srun"
    int ranks = 0;         ///< processes that it started
};
/// As environ says: Open MPI's mpirun, MPICH's, or a job step of Slurm's srun. Empty for one process alone, and in a
/// batch script, which is no job step.
[[nodiscard]] std::optional<Start> startOfThisProcess();

/// Rank 0's view of the others, which wait to be told what to do. thread-compatible.
class Ranks {
  public:
    virtual ~Ranks() = default;
    /// How many, this one included.
    [[nodiscard]] virtual int count() const = 0;
    /// Connects every other rank `connections` times; once. Errors as Host::open and Host::gather.
    [[nodiscard]] virtual Result<Channels> gather(int connections, std::stop_token stop) = 0;
    /// Sends the others home when there is nothing for them to do: waiting in MPI keeps their cores busy. Nothing after
    /// gather.
    virtual void dismiss() = 0;
};

/// One rank of several, found through MPI. Rank 0's dismisses the others when it is destroyed.
class MpiRanks final : public Ranks {
  public:
    /// Null where this process is alone. Unsupported when there are several and this build has no MPI, or when MPI
    /// disagrees with the launcher; Failed with MPI's own words.
    [[nodiscard]] static Result<std::unique_ptr<MpiRanks>> join();
    ~MpiRanks() override;
    MpiRanks(const MpiRanks&) = delete;
    MpiRanks& operator=(const MpiRanks&) = delete;

    [[nodiscard]] int rank() const { return m_rank; }
    [[nodiscard]] int count() const override { return m_count; }
    [[nodiscard]] Result<Channels> gather(int connections, std::stop_token stop) override;
    void dismiss() override;
    /// For any rank but 0: waits for rank 0's invitation and follows it. Nothing when rank 0 has nothing to do.
    [[nodiscard]] Result<Channels> attend();

  private:
    struct Door;
    MpiRanks(std::unique_ptr<Door> door, int rank, int count);
    /// Sends or receives the one text, and leaves MPI.
    [[nodiscard]] Result<std::string> tell(const std::string& text);

    std::unique_ptr<Door> m_door;  ///< null after tell
    const int m_rank, m_count;
};

}  // namespace lpes::cluster
