#include <QProgressBar>
#include <QStatusBar>
#include <QToolButton>

#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/controllers/train_controller.h"
#include "app/main_window.h"
#include "app/presenters.h"
#include "widgets/common/message_bar.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

using widgets::LogPanel;
using widgets::MessageBar;

void MainWindow::wireTrain() {
    TrainController* train = m_train.get();
    // A training has no panel: its settings are its run's own.
    m_training = new QProgressBar(this);
    m_training->setObjectName(QStringLiteral("trainingBar"));
    m_training->setMinimumWidth(300);
    m_training->setAccessibleName(tr("Training"));
    auto* stop = new QToolButton(this);
    stop->setDefaultAction(train->stopAction());
    stop->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    for (QWidget* part : {static_cast<QWidget*>(m_training), static_cast<QWidget*>(stop)}) {
        statusBar()->addPermanentWidget(part);
        part->hide();
    }
    connect(train, &TrainController::began, this, [this, stop](qint64 run) {
        m_messages->hide();
        m_training->setRange(0, 0);
        m_training->setFormat({});
        m_training->show();
        stop->show();
        setWorkspace(Search);
        offerJobs({});
        say(tr("The training of run %1 goes on from its checkpoint").arg(run));
    });
    connect(train, &TrainController::progressChanged, this, [this](const Progress& progress) {
        // Sequences can be more than a bar can count.
        constexpr int kParts = 1000;
        m_training->setRange(0, progress.total > 0 ? kParts : 0);
        if (progress.total > 0) m_training->setValue(static_cast<int>(kParts * progress.done / progress.total));
        m_training->setFormat(QString::fromStdString(progress.stage));
    });
    connect(train, &TrainController::warningRaised, this,
            [this](const QString& sentence) { m_log->add(LogPanel::Level::Warning, sentence); });
    connect(train, &TrainController::finished, this, [this](qint64 run, const nlohmann::json& result) {
        m_stores->nudge();
        const QString sentence = tr("Run %1 is finished: %2.").arg(run).arg(trainingOf(result));
        m_log->add(LogPanel::Level::Info, sentence);
        m_messages->show(MessageBar::Kind::Success, sentence);
    });
    connect(train, &TrainController::stopped, this, [this](qint64 run, const std::filesystem::path& database) {
        m_stores->nudge();
        say(tr("Run %1 is stopped; what it finished is stored").arg(run));
        offerResuming(run, database);
    });
    connect(train, &TrainController::failed, this, [this](const Error& error) {
        m_stores->nudge();
        complain(tr("The training ended: %1").arg(QString::fromStdString(error.text())));
    });
    connect(train, &TrainController::ended, this, [this, stop] {
        m_training->hide();
        stop->hide();
        offerJobs(tr("Open a model first"));
    });
}

void MainWindow::offerResuming(qint64 run, const std::filesystem::path& database) {
    m_messages->show(MessageBar::Kind::Info, tr("Run %1 is stopped; what it finished is stored.").arg(run),
                     {{tr("Resume"), [this, run, database] {
                           if (database != m_search->database()) {
                               return complain(tr("Run %1 is in %2; open that data base to resume it")
                                                   .arg(run)
                                                   .arg(QString::fromStdString(database.string())));
                           }
                           Q_EMIT m_runList->resumeRequested(run);
                       }}});
}

}  // namespace lpes::app
