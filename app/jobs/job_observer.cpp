#include "app/jobs/job_observer.h"

#include <QTimer>
#include <chrono>

namespace lpes::app {

void JobObserver::progressed(const Progress& progress) {
    if (!m_progress.put(progress)) return;  // a delivery is on its way and will take this one
    QMetaObject::invokeMethod(
        this,
        [this] {
            using namespace std::chrono_literals;
            QTimer::singleShot(33ms, this, &JobObserver::deliver);
        },
        Qt::QueuedConnection);
}

void JobObserver::warned(const std::string& message) {
    QMetaObject::invokeMethod(
        this, [this, sentence = QString::fromStdString(message)] { Q_EMIT warningRaised(sentence); },
        Qt::QueuedConnection);
}

void JobObserver::deliver() {
    if (const auto progress = m_progress.take()) Q_EMIT progressChanged(*progress);
}

}  // namespace lpes::app
