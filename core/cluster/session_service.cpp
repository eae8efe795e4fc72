#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "core/cluster/remote_session.h"
#include "core/cluster/session_messages.h"

namespace lpes::cluster {

namespace {

using nlohmann::json;

/// One request at a time, which its asker may stop.
class Service {
  public:
    Service(Channel& channel, model::AnswerSession& session) : m_channel(channel), m_session(session) {}

    Result<void> run() {
        std::jthread listener([this] { listen(); });
        // Whatever ends this, an exception too: the listener waits for the peer, and the peer for an answer.
        const struct HangUp {
            Channel& channel;
            ~HangUp() { channel.close(); }
        } hangUp{m_channel};
        while (std::optional<Request> request = next()) {
            auto answer = readMessage([&] { return compute(request->object, request->stop.get_token()); });
            if (!answer) {
                fault(answer.error());
                break;
            }
            (*answer)["id"] = request->id;
            // Where the asker is gone the listener knows it too.
            if (!m_channel.send(toMessage(*answer))) break;
        }
        m_channel.close();
        listener.join();
        return m_fault ? Result<void>(fail(*m_fault)) : Result<void>();
    }

  private:
    struct Request {
        std::uint64_t id = 0;
        json object;
        std::stop_source stop;
    };

    void listen() {
        while (true) {
            const auto message = m_channel.receive();
            if (!message) break;
            auto object = objectOf(*message);
            if (!object) {
                fault(object.error());
                break;
            }
            if (auto taken = readMessage([&] { return take(std::move(*object)); }); !taken) {
                fault(taken.error());
                break;
            }
        }
        const std::lock_guard lock(m_mutex);
        m_ended = true;
        m_stop.request_stop();
        m_changed.notify_all();
    }

    bool take(json object) {
        const auto id = object.at("id").get<std::uint64_t>();
        const bool stops = object.at("do") == "stop";
        const std::lock_guard lock(m_mutex);
        if (stops) {
            if (id == m_latest) m_stop.request_stop();
            return true;
        }
        m_latest = id;
        m_stop = std::stop_source();
        m_waiting = Request{id, std::move(object), m_stop};
        m_changed.notify_all();
        return true;
    }

    std::optional<Request> next() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_ended || m_waiting; });
        if (m_ended) return std::nullopt;
        return std::exchange(m_waiting, std::nullopt);
    }

    /// Throws nlohmann::json::exception for a request that cannot be understood.
    json compute(const json& request, const std::stop_token& stop) {
        return guarded([&]() -> json {
            const model::PositionMethod method = methodFromJson(request.at("method"));
            const std::string what = request.at("do");
            if (what == "score") {
                const auto batch = promptsFromJson(request.at("batch"));
                const auto scores = m_session.scoreAnswers(batch, method, stop, {request.at("share").get<bool>()});
                return scores ? json{{"scores", toJson(*scores)}} : json{{"error", toJson(scores.error())}};
            }
            if (what == "generate") {
                const auto prompts = request.at("prompts").get<std::vector<std::vector<model::TokenId>>>();
                const model::GenerateOptions options{request.at("most"), request.at("ends"), request.at("share")};
                const auto answers = m_session.generateAnswers(prompts, method, options, stop);
                return answers ? json{{"answers", toJson(*answers)}} : json{{"error", toJson(answers.error())}};
            }
            if (what == "gradients") {
                const auto gradients = m_session.scaleGradients(promptsFromJson(request.at("batch")), method, stop,
                                                                {request.at("share").get<bool>()});
                return gradients ? json{{"gradients", toJson(*gradients)}} : json{{"error", toJson(gradients.error())}};
            }
            return {{"error",
                     toJson(Error{ErrorCode::Unsupported, "this lpes cannot do '" + what + "' for others", {}, {}})}};
        });
    }

    /// What a library throws is the evaluation's failure, not the rank's end.
    template <class Work>
    json guarded(const Work& work) {
        try {
            return work();
        } catch (const json::exception&) {
            throw;
        } catch (const std::bad_alloc&) {
            return {
                {"error", toJson(Error{ErrorCode::OutOfMemory, "there is not enough memory on this machine", {}, {}})}};
        } catch (const std::exception& error) {
            return {{"error",
                     toJson(Error{ErrorCode::Failed, "the evaluation ended with an exception", error.what(), {}})}};
        }
    }

    void fault(const Error& error) {
        const std::lock_guard lock(m_mutex);
        if (!m_fault) m_fault = error;
    }

    Channel& m_channel;
    model::AnswerSession& m_session;
    std::mutex m_mutex;  ///< guards everything below
    std::condition_variable m_changed;
    std::optional<Request> m_waiting;
    std::uint64_t m_latest = 0;
    std::stop_source m_stop;  ///< of the latest request
    bool m_ended = false;
    std::optional<Error> m_fault;
};

}  // namespace

Result<void> serveSession(Channel& channel, model::AnswerSession& session) {
    return Service(channel, session).run();
}

}  // namespace lpes::cluster
