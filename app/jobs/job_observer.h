#pragma once

#include <QObject>
#include <QString>

#include "app/jobs/mailbox.h"
#include "core/base/progress.h"

namespace lpes::app {

/// Brings a core job's progress to the GUI thread: at most about 30 times a second, the newest wins; warnings are never
/// lost. Lives in the GUI thread and must outlive the job's thread. thread-safe where it is called by the job.
class JobObserver : public QObject, public ProgressObserver {
    Q_OBJECT
  public:
    using QObject::QObject;
    void progressed(const Progress& progress) override;
    void warned(const std::string& message) override;

  Q_SIGNALS:
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);

  private:
    void deliver();

    Mailbox<Progress> m_progress;
};

}  // namespace lpes::app
