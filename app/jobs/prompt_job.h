#pragma once

#include <QObject>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/jobs/model_job.h"
#include "core/base/error.h"
#include "core/studies/task_setup.h"
#include "widgets/panels/prompt_view.h"

namespace lpes::studies {
class PromptMaker;
}

namespace lpes::app {

/// Which prompt is wanted.
struct PromptOrder {
    std::shared_ptr<const ReadyModel> model;
    studies::TaskSpec task;
    std::int64_t items = 100;             ///< to generate where the task's limit is unset
    std::optional<std::string> id;        ///< of the item; unset: its number counts
    std::int64_t number = 0;              ///< the last item where there are fewer
    std::optional<std::string> position;  ///< the first where the task does not have it
    std::optional<std::string> score;     ///< the form's; the benchmark's own where the task cannot have it
};

/// Makes prompts on a thread of its own, which keeps the items while they stay the same; the newest order wins, and an
/// answer to an older one is dropped. GUI thread only; signals come through the event loop.
class PromptJob : public QObject {
    Q_OBJECT
  public:
    explicit PromptJob(QObject* parent = nullptr);
    /// Ends the reading of items that is under way.
    ~PromptJob() override;

    void request(PromptOrder order);
    /// Nothing that was asked for is answered any more.
    void drop();
    [[nodiscard]] bool isBusy() const { return m_answered != m_ticket; }

  Q_SIGNALS:
    void ready(const lpes::widgets::PromptFacts& facts);
    void failed(const lpes::Error& error);

  private:
    void work(const std::stop_token& end);

    std::uint64_t m_ticket = 0, m_answered = 0;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::optional<std::pair<std::uint64_t, PromptOrder>> m_order;  ///< waiting
    std::jthread m_thread;                                         // last: joined before anything it uses goes
};

}  // namespace lpes::app
