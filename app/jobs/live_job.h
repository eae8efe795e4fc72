#pragma once

#include <QObject>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/jobs/mailbox.h"
#include "app/jobs/model_job.h"
#include "core/base/error.h"
#include "core/studies/live_probe.h"

namespace lpes::app {

/// Pictures for a curve, with how they came about.
struct LivePictures {
    std::uint64_t ticket = 0;  ///< of the request they answer
    studies::LiveProbe::Pictures pictures;
    bool complete = false;                       ///< every planned prompt is in
    double computedAt = 0.0;                     ///< steadySeconds()
    std::optional<model::AppliedCheck> applied;  ///< when complete
};

/// Computes what the curve does, in the background: the newest request wins, and an older computation is abandoned at
/// the next layer. GUI thread only; signals come through the event loop.
class LiveJob : public QObject {
    Q_OBJECT
  public:
    explicit LiveJob(QObject* parent = nullptr);
    ~LiveJob() override;

    /// The model and the task whose first item is the sample; null: no model. Abandons what is running.
    void setSubject(std::shared_ptr<const ReadyModel> model, const studies::TaskSpec& task);
    /// Returns the ticket that the answer will carry. Without a model nothing is answered.
    std::uint64_t request(const rope::LayerScales& scales);
    [[nodiscard]] std::uint64_t newestTicket() const { return m_ticket; }

  Q_SIGNALS:
    void picturesReady(const lpes::app::LivePictures& pictures);
    void failed(std::uint64_t ticket, const lpes::Error& error);

  private:
    struct Request {
        std::uint64_t ticket = 0;
        rope::LayerScales scales;
    };
    struct Subject {
        std::shared_ptr<const ReadyModel> model;
        studies::TaskSpec task;
    };
    void work(const std::stop_token& end);
    void post(LivePictures pictures);
    void deliver();

    std::uint64_t m_ticket = 0, m_subjectTicket = 0;
    Mailbox<LivePictures> m_pictures;

    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::optional<Subject> m_subject;  ///< new one for the thread to take up
    std::optional<Request> m_request;  ///< waiting
    std::stop_source m_running;        ///< of the computation in progress
    std::jthread m_thread;             // last: joined before anything it uses goes
};

}  // namespace lpes::app
