#include "app/jobs/prompt_job.h"

#include <algorithm>

#include "app/jobs/thread_context.h"
#include "app/presenters.h"
#include "core/base/thread_priority.h"
#include "core/studies/show_prompt.h"

namespace lpes::app {

namespace {

/// The items of one order, kept for the next.
struct Kept {
    std::shared_ptr<const ReadyModel> model;
    std::string key;
    std::optional<studies::PromptMaker> maker;
};

Result<void> open(const PromptOrder& order, Kept& kept, const std::stop_token& end) {
    const std::string key = studies::toJson(order.task).dump() + std::to_string(order.items) + order.score.value_or("");
    if (kept.maker && kept.model == order.model && kept.key == key) return {};
    kept.maker.reset();
    auto prepared =
        studies::prepareTask(order.task, order.items, &order.model->model.tokenizer(), studies::Purpose::Shown, end);
    if (!prepared) return fail(prepared.error());
    // What cannot be run can still be looked at.
    const auto score = studies::scoreFor(*prepared, order.score) ? order.score : std::nullopt;
    auto maker = studies::promptMakerFor(std::move(*prepared), order.model->model.tokenizer(),
                                         order.model->model.config().contextLength, score);
    if (!maker) return fail(maker.error());
    kept.model = order.model;
    kept.key = key;
    kept.maker = std::move(*maker);
    return {};
}

Result<widgets::PromptFacts> make(const PromptOrder& order, Kept& kept, const std::stop_token& end) {
    if (auto opened = open(order, kept, end); !opened) return fail(opened.error());
    const studies::PreparedTask& task = kept.maker->task();
    const std::int64_t items = task.benchmark->size();
    const std::string item = order.id.value_or(
        std::to_string(std::clamp<std::int64_t>(order.number, 0, std::max<std::int64_t>(items - 1, 0))));
    const bool known = order.position && std::ranges::find(task.labels, *order.position) != task.labels.end();
    auto shown = studies::showPrompt(*kept.maker, item, known ? order.position : std::nullopt);
    if (!shown) return fail(shown.error());
    widgets::PromptFacts facts = promptFactsOf(*shown);
    facts.items = items;
    facts.number = task.find(shown->item).value_or(0);
    for (const std::string& label : task.labels) facts.positions << QString::fromStdString(label);
    return facts;
}

}  // namespace

PromptJob::PromptJob(QObject* parent) : QObject(parent), m_thread([this](const std::stop_token& end) { work(end); }) {}

PromptJob::~PromptJob() {
    m_thread.request_stop();
}

void PromptJob::request(PromptOrder order) {
    ++m_ticket;
    const std::lock_guard lock(m_mutex);
    m_order.emplace(m_ticket, std::move(order));
    m_wake.notify_one();
}

void PromptJob::drop() {
    m_answered = ++m_ticket;
    const std::lock_guard lock(m_mutex);
    m_order.reset();
}

void PromptJob::work(const std::stop_token& end) {
    lowerThreadPriority();
    Kept kept;
    for (;;) {
        std::uint64_t ticket = 0;
        PromptOrder order;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait(lock, end, [&] { return m_order.has_value(); });
            if (end.stop_requested()) return;
            std::tie(ticket, order) = std::move(*std::exchange(m_order, std::nullopt));
        }
        auto facts = guardedJob([&] { return make(order, kept, end); });
        QMetaObject::invokeMethod(
            this,
            [this, ticket, facts = std::move(facts)] {
                if (ticket != m_ticket) return;
                m_answered = ticket;
                if (facts) {
                    Q_EMIT ready(*facts);
                } else {
                    Q_EMIT failed(facts.error());
                }
            },
            Qt::QueuedConnection);
    }
}

}  // namespace lpes::app
