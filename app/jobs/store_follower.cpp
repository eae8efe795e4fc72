#include "app/jobs/store_follower.h"

#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/jobs/thread_context.h"
#include "app/presenters.h"
#include "core/analysis/plot_json.h"
#include "core/base/json_text.h"
#include "core/base/thread_priority.h"

namespace lpes::app {

namespace {

using namespace std::chrono_literals;
constexpr auto kRound = 200ms;
/// A run's process can die without any commit, so the list is read again now and then although nothing changed.
constexpr int kRoundsWithoutChange = 5;

std::optional<std::uint64_t> inodeOf(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_ino);
}

std::uint64_t versionOf(const analysis::PlotData& plot) {
    return std::hash<std::string>{}(jsonLine(analysis::toJson(plot)));
}

}  // namespace

StoreFollower::StoreFollower(QObject* parent)
    : QObject(parent), m_thread([this](const std::stop_token& end) { work(end); }) {}

StoreFollower::~StoreFollower() {
    m_thread.request_stop();
}

void StoreFollower::setDatabase(const std::filesystem::path& path) {
    m_path = path;
    const std::lock_guard lock(m_mutex);
    m_wanted.path = path;
    m_wanted.run = 0;
    ++m_wanted.change;
    m_wake.notify_one();
}

void StoreFollower::selectRun(std::int64_t id) {
    const std::lock_guard lock(m_mutex);
    if (m_wanted.run == id) return;
    m_wanted.run = id;
    ++m_wanted.change;
    m_wake.notify_one();
}

void StoreFollower::nudge() {
    const std::lock_guard lock(m_mutex);
    m_nudged = true;
    m_wake.notify_one();
}

void StoreFollower::work(const std::stop_token& end) {
    lowerThreadPriority();
    std::uint64_t seenChange = 0;
    std::optional<std::int64_t> seenVersion;
    int quietRounds = 0;
    while (!end.stop_requested()) {
        Wanted wanted;
        bool nudged = false;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait_for(lock, end, kRound, [&] { return m_wanted.change != seenChange || m_nudged; });
            if (end.stop_requested()) break;
            wanted = m_wanted;
            nudged = std::exchange(m_nudged, false);
        }
        if (wanted.path.empty()) continue;
        const bool replaced = closeIfReplaced(wanted.path);
        std::optional<std::int64_t> version;
        if (m_reader) {
            if (auto known = m_reader->dataVersion()) version = *known;
        }
        const bool changed = replaced || nudged || wanted.change != seenChange || version != seenVersion;
        if (!changed && ++quietRounds < kRoundsWithoutChange) continue;
        quietRounds = 0;
        seenChange = wanted.change;
        seenVersion = version;
        auto looked = guardedJob([&]() -> Result<StoreSnapshot> { return look(wanted); });
        StoreSnapshot snapshot;
        if (looked) {
            snapshot = std::move(*looked);
        } else {
            snapshot.path = wanted.path;
            snapshot.error = looked.error();
        }
        if (m_snapshots.put(std::make_shared<const StoreSnapshot>(std::move(snapshot)))) {
            QMetaObject::invokeMethod(this, &StoreFollower::deliver, Qt::QueuedConnection);
        }
    }
    m_reader.reset();
}

bool StoreFollower::closeIfReplaced(const std::filesystem::path& path) {
    const std::optional<std::uint64_t> inode = inodeOf(path);
    if (m_readerPath == path && inode == m_inode) return false;
    m_reader.reset();
    m_names = {};
    m_readerPath = path;
    m_inode = inode;
    return true;
}

StoreSnapshot StoreFollower::look(const Wanted& wanted) {
    StoreSnapshot snapshot;
    snapshot.path = wanted.path;
    snapshot.exists = inodeOf(wanted.path).has_value();
    if (!snapshot.exists) return snapshot;
    if (!m_reader) {
        auto opened = store::StoreReader::open(wanted.path);
        if (!opened) {
            snapshot.error = opened.error();
            return snapshot;
        }
        m_reader = std::move(*opened);
    }
    if (auto read = readInto(snapshot, wanted.run); !read) {
        snapshot.error = read.error();
        m_reader.reset();  // tried anew after some rounds: damage may be mended, a disk mounted again
    }
    return snapshot;
}

Result<void> StoreFollower::readInto(StoreSnapshot& snapshot, std::int64_t wanted) {
    auto runs = m_reader->runs();
    if (!runs) return fail(runs.error());
    for (const store::RunRow& run : *runs) {
        auto name = m_names.models.find(run.modelId);
        if (name == m_names.models.end()) {
            auto model = m_reader->model(run.modelId);
            if (!model) return fail(model.error());
            name = m_names.models.emplace(run.modelId, model->name).first;
        }
        snapshot.modelNames.push_back(name->second);
        // Asked once per run: a profile comes with the end of its run.
        bool profile = false;
        if (run.state == store::RunState::Finished && run.kind == "search") {
            auto known = m_names.profiles.find(run.id);
            if (known == m_names.profiles.end()) {
                auto profiles = m_reader->profiles(run.id);
                if (!profiles) return fail(profiles.error());
                known = m_names.profiles.emplace(run.id, !profiles->empty()).first;
            }
            profile = known->second;
        }
        snapshot.hasProfile.push_back(profile);
        snapshot.outcomes.push_back(outcomeOf(run));
        if (run.id == wanted) {
            auto detail = detailOf(run);
            if (!detail) return fail(detail.error());
            snapshot.detail = std::move(*detail);
        }
    }
    snapshot.runs = std::move(*runs);
    return {};
}

Result<std::shared_ptr<const RunDetail>> StoreFollower::detailOf(const store::RunRow& run) {
    auto detail = std::make_shared<RunDetail>();
    detail->run = run;
    detail->modelName = m_names.models[run.modelId];
    auto plots = studies::allPlots(*m_reader, run);
    if (!plots) return fail(plots.error());
    for (std::size_t kind = 0; kind < kPlotKinds.size(); ++kind) {
        StoredPlot& stored = detail->plots[kind];
        if (auto& plot = (*plots)[kind]) {
            stored.version = versionOf(*plot);
            stored.data = std::make_shared<const analysis::PlotData>(std::move(*plot));
        } else {
            stored.why = plot.error().message;
        }
    }
    auto population = studies::populationOf(*m_reader, run);
    if (!population) return fail(population.error());
    detail->population = std::move(*population);
    auto profiles = m_reader->profiles(run.id);
    if (!profiles) return fail(profiles.error());
    if (!profiles->empty()) detail->profileJson = profiles->back().json;
    return detail;
}

void StoreFollower::deliver() {
    if (auto snapshot = m_snapshots.take(); snapshot && (*snapshot)->path == m_path) Q_EMIT snapshotReady(*snapshot);
}

}  // namespace lpes::app
