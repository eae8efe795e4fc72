#include "core/studies/search_ranks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/base/thread_priority.h"
#include "core/base/version.h"
#include "core/cluster/session_messages.h"
#include "core/model/torch/torch_runtime.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kGlance{100};

/// What has to be alike, in the order in which it is told, with its name and whether it is the user's files.
constexpr struct {
    const char *key, *what;
    ErrorCode code;
} kIdentity[] = {{"version", "version of lpes", ErrorCode::Unsupported},
                 {"libtorch", "LibTorch", ErrorCode::Unsupported},
                 {"fingerprint", "model", ErrorCode::BadInput},
                 {"weights", "weights", ErrorCode::BadInput},
                 {"tokenizer", "tokenizer", ErrorCode::BadInput},
                 {"device", "processor", ErrorCode::Unsupported},
                 {"compute_type", "compute type", ErrorCode::Unsupported},
                 {"residency", "way to keep weights in memory", ErrorCode::Unsupported}};

json identityOf(const LoadedModel& model) {
    return {{"version", kVersion},
            {"libtorch", model::libTorchVersion()},
            {"fingerprint", model.config().fingerprint},
            {"weights", weightsHash(*model.opened.weights)},
            {"tokenizer", model.tokenizer().fingerprint()},
            {"device", model::deviceDescription(model.lm->device())},
            {"compute_type", model::computeTypeName(model.lm->computeType())},
            {"residency", model.lm->keepsWeightsAsStored() ? "as stored" : "dequantised"}};
}

std::string textAt(const json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

Result<void> requireAlike(const json& own, const json& other, const std::string& peer) {
    for (const auto& one : kIdentity) {
        const std::string here = textAt(own, one.key), there = textAt(other, one.key);
        if (here == there) continue;
        return fail(one.code, fmt::format("{} has another {} than rank 0 ('{}' and '{}'): results would depend on who "
                                          "computed what; make them alike",
                                          peer, one.what, there, here));
    }
    return {};
}

}  // namespace

SearchRanks::SearchRanks(cluster::Channels channels, int perRank)
    : m_channels(std::move(channels)), m_perRank(perRank) {
    for (const auto& channel : m_channels) m_sessions.push_back(std::make_unique<cluster::RemoteSession>(*channel));
}

SearchRanks::~SearchRanks() {
    for (const auto& channel : m_channels) channel->close();
}

Result<std::unique_ptr<SearchRanks>> SearchRanks::gather(cluster::Ranks& ranks, const ComputeSettings& compute,
                                                         std::stop_token stop) {
    if (!compute.threadsPerWorker) {
        return fail(ErrorCode::Usage,
                    fmt::format("a search on {} ranks needs --threads-per-worker: results depend on it, so it is never "
                                "derived from a machine",
                                ranks.count()));
    }
    auto channels = ranks.gather(compute.workers, stop);
    if (!channels) return fail(channels.error());
    std::unique_ptr<SearchRanks> own(new SearchRanks(std::move(*channels), compute.workers));
    const cluster::Message setup = cluster::toMessage({{"version", kVersion},
                                                       {"model", compute.model},
                                                       {"dtype", compute.dtype},
                                                       {"device", compute.device},
                                                       {"threads", *compute.threadsPerWorker}});
    for (std::size_t i = 0; i < own->m_channels.size(); i += static_cast<std::size_t>(own->m_perRank)) {
        if (auto sent = own->m_channels[i]->send(setup); !sent) return fail(sent.error());
    }
    return own;
}

Result<void> SearchRanks::requireSame(const LoadedModel& model, std::stop_token stop) {
    const json own = identityOf(model);
    for (std::size_t i = 0; i < m_channels.size(); i += static_cast<std::size_t>(m_perRank)) {
        cluster::Channel& channel = *m_channels[i];
        while (!channel.wait(kGlance)) {
            if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        }
        const auto message = channel.receive();
        if (!message) return fail(message.error());
        const auto answer = cluster::objectOf(*message);
        if (!answer) return fail(answer.error());
        if (answer->contains("error")) {
            auto error = cluster::readMessage([&] { return cluster::errorFromJson(answer->at("error")); });
            if (!error) return fail(error.error());
            error->message = fmt::format("{}: {}", channel.peer(), error->message);
            return fail(*error);
        }
        if (auto alike = requireAlike(own, answer->value("ready", json()), channel.peer()); !alike) return alike;
    }
    return {};
}

std::vector<model::AnswerSession*> SearchRanks::sessions() const {
    std::vector<model::AnswerSession*> all;
    for (const auto& session : m_sessions) all.push_back(session.get());
    return all;
}

Result<void> SearchRanks::requireAlive() const {
    for (const auto& channel : m_channels) {
        // One that we closed ourselves hung when it was stopped, which is no loss.
        if (channel->isClosed() || channel->isAlive()) continue;
        return fail(ErrorCode::Failed, fmt::format("the connection to {} is lost", channel->peer()), {},
                    cluster::kLostPeerContext);
    }
    return {};
}

namespace {

/// Requests a stop when the peer is gone, while nobody receives from it and it has nothing to say.
class Watch {
  public:
    explicit Watch(const cluster::Channel& channel)
        : m_thread([this, &channel](const std::stop_token& done) {
              while (!done.stop_requested()) {
                  if (!channel.wait(kGlance)) continue;
                  if (!channel.isAlive()) m_gone.request_stop();
                  return;
              }
          }) {}
    [[nodiscard]] std::stop_token token() const { return m_gone.get_token(); }

  private:
    std::stop_source m_gone;
    std::jthread m_thread;  ///< last: it uses the above
};

/// Loads what rank 0 asks for.
Result<std::pair<LoadedModel, int>> prepareRank(const json& setup, ProgressObserver& observer,
                                                const std::stop_token& stop) {
    struct Asked {
        std::string version;
        ModelOptions model;
        int threads;
    };
    const auto asked = cluster::readMessage([&] {
        return Asked{
            setup.at("version"), {setup.at("model"), setup.at("dtype"), setup.at("device")}, setup.at("threads")};
    });
    if (!asked) return fail(asked.error());
    if (asked->version != kVersion) {
        return fail(ErrorCode::Unsupported, fmt::format("this is lpes {} and rank 0 is {}; install the same on every "
                                                        "machine",
                                                        kVersion, asked->version));
    }
    auto loaded = loadModel(asked->model, observer, stop);
    if (!loaded) return fail(loaded.error());
    return std::pair(std::move(*loaded), asked->threads);
}

}  // namespace

Result<void> serveSearch(cluster::Channels channels, ProgressObserver& observer) {
    if (channels.empty()) return {};
    lowerThreadPriority();
    const auto message = channels.front()->receive();
    if (!message) return {};  // rank 0 found that there is nothing to do
    const auto setup = cluster::objectOf(*message);
    if (!setup) return fail(setup.error());
    const auto prepared = [&] {
        const Watch leader(*channels.front());
        return prepareRank(*setup, observer, leader.token());
    }();
    const json answer =
        prepared ? json{{"ready", identityOf(prepared->first)}} : json{{"error", lpes::toJson(prepared.error())}};
    if (auto told = channels.front()->send(cluster::toMessage(answer)); !told || !prepared) return {};
    std::vector<std::unique_ptr<model::ModelSession>> sessions;
    for (std::size_t i = 0; i < channels.size(); ++i)
        sessions.push_back(prepared->first.lm->newSession(prepared->second));
    std::vector<Result<void>> served(channels.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < channels.size(); ++i)
            threads.emplace_back([&, i] {
                model::LocalSession session(*sessions[i]);
                served[i] = cluster::serveSession(*channels[i], session);
            });
    }
    for (const Result<void>& one : served) {
        if (!one) return one;
    }
    return {};
}

}  // namespace lpes::studies
