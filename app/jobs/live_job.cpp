#include "app/jobs/live_job.h"

#include "app/jobs/thread_context.h"
#include "core/base/clock.h"
#include "core/base/thread_priority.h"

namespace lpes::app {

LiveJob::LiveJob(QObject* parent) : QObject(parent), m_thread([this](const std::stop_token& end) { work(end); }) {}

LiveJob::~LiveJob() {
    m_thread.request_stop();
    const std::lock_guard lock(m_mutex);
    m_running.request_stop();
}

void LiveJob::setSubject(std::shared_ptr<const ReadyModel> model, const studies::TaskSpec& task) {
    m_subjectTicket = ++m_ticket;  // whatever is under way belongs to the model before
    const std::lock_guard lock(m_mutex);
    m_subject = Subject{std::move(model), task};
    m_request.reset();
    m_running.request_stop();
    m_wake.notify_one();
}

std::uint64_t LiveJob::request(const rope::LayerScales& scales) {
    ++m_ticket;
    const std::lock_guard lock(m_mutex);
    m_request = Request{m_ticket, scales};
    m_running.request_stop();
    m_wake.notify_one();
    return m_ticket;
}

void LiveJob::work(const std::stop_token& end) {
    lowerThreadPriority();
    Subject subject;
    std::unique_ptr<studies::LiveProbe> probe;
    for (;;) {
        std::optional<Request> request;
        std::stop_token stop;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait(lock, end, [&] { return m_subject || m_request; });
            if (end.stop_requested()) return;
            if (m_subject) {
                subject = std::move(*m_subject);
                m_subject.reset();
                probe.reset();
            }
            request = std::exchange(m_request, std::nullopt);
            m_running = std::stop_source();
            stop = m_running.get_token();
        }
        if (!request || !subject.model) continue;
        const auto served = guardedJob([&]() -> Result<void> {
            if (!probe) {
                auto made = studies::LiveProbe::make(subject.model->model, subject.task, windowThreads(), stop);
                if (!made) return fail(made.error());
                probe = std::move(*made);
            }
            auto pictures = probe->compute(
                request->scales,
                [&](const studies::LiveProbe::Pictures& partial) {
                    post({request->ticket, partial, false, steadySeconds(), {}});
                },
                stop);
            if (!pictures) return fail(pictures.error());
            LivePictures complete{request->ticket, std::move(*pictures), true, 0.0, {}};
            if (!request->scales.empty()) {
                auto applied = probe->verify(request->scales);
                if (!applied) return fail(applied.error());
                complete.applied = std::move(*applied);
            }
            complete.computedAt = steadySeconds();
            post(std::move(complete));
            return {};
        });
        if (!served && !model::wasStopped(served.error())) {
            QMetaObject::invokeMethod(
                this,
                [this, ticket = request->ticket, error = served.error()] {
                    if (ticket == m_ticket) Q_EMIT failed(ticket, error);
                },
                Qt::QueuedConnection);
        }
    }
}

void LiveJob::post(LivePictures pictures) {
    if (m_pictures.put(std::move(pictures))) {
        QMetaObject::invokeMethod(this, &LiveJob::deliver, Qt::QueuedConnection);
    }
}

void LiveJob::deliver() {
    const auto pictures = m_pictures.take();
    // Pictures of an older curve of the same model still tell something while a drag goes on; another model's do not.
    if (pictures && pictures->ticket > m_subjectTicket) Q_EMIT picturesReady(*pictures);
}

}  // namespace lpes::app
