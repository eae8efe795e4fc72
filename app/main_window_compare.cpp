#include "app/controllers/compare_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/controllers/train_controller.h"
#include "app/main_window.h"
#include "app/pages/compare_page.h"
#include "app/presenters.h"
#include "widgets/common/message_bar.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

using widgets::LogPanel;
using widgets::MessageBar;

void MainWindow::wireCompare() {
    CompareController* compare = m_compare.get();
    connect(compare, &CompareController::began, this, [this] {
        m_stores->expectOwnRun();
        m_messages->hide();
        setWorkspace(Compare);
        offerJobs({});
        say(tr("A comparison has begun; it works on its own copy of the settings"));
    });
    connect(compare, &CompareController::warningRaised, this,
            [this](const QString& sentence) { m_log->add(LogPanel::Level::Warning, sentence); });
    connect(compare, &CompareController::finished, this, [this](qint64 run, const nlohmann::json& result) {
        m_stores->nudge();
        const QString sentence = tr("Run %1 is finished: %2.").arg(run).arg(comparisonOf(result));
        m_log->add(LogPanel::Level::Info, sentence);
        m_messages->show(MessageBar::Kind::Info, sentence);
    });
    connect(compare, &CompareController::stopped, this, [this](qint64 run) {
        m_stores->nudge();
        if (run == 0) return say(tr("The comparison was stopped before its run began; nothing is stored"));
        say(tr("Run %1 is stopped; what it finished is stored, and Resume goes on with it").arg(run));
    });
    connect(compare, &CompareController::failed, this, [this](const Error& error) {
        m_stores->nudge();
        complain(tr("The comparison ended: %1").arg(QString::fromStdString(error.text())));
    });
    connect(compare, &CompareController::ended, this, [this] { offerJobs(tr("Open a model first")); });
    connect(m_search.get(), &SearchController::began, this, [this] { offerJobs({}); });
    connect(m_search.get(), &SearchController::ended, this, [this] { offerJobs(tr("Open a model first")); });
    const auto show = [this] {
        const auto detail = m_stores->detail();
        m_compare->showRun(detail.get());
        m_comparePage->showRun(detail);
    };
    connect(m_stores.get(), &StoreController::runShown, this, show);
    connect(m_stores.get(), &StoreController::snapshotShown, this, [this, show] {
        if (!m_stores->detail()) show();
    });
}

void MainWindow::offerJobs(const QString& whyNoModel) {
    const auto& model = m_models->model();
    const QString searching = tr("A search is under way; stop it first");
    const QString comparing = tr("A comparison is under way; stop it first");
    const QString training = tr("A training is under way; stop it first");
    if (m_train->isBusy()) {
        m_search->setModel(nullptr, training);
    } else if (m_compare->isBusy()) {
        m_search->setModel(nullptr, comparing);
    } else if (!m_search->isBusy()) {
        m_search->setModel(model, whyNoModel);
    }
    if (m_train->isBusy()) {
        m_compare->setModel(nullptr, training);
    } else if (m_search->isBusy()) {
        m_compare->setModel(nullptr, searching);
    } else if (!m_compare->isBusy()) {
        m_compare->setModel(model, whyNoModel);
    }
}

bool MainWindow::isBusy() const {
    return m_search->isBusy() || m_compare->isBusy() || m_train->isBusy();
}

void MainWindow::closeWhenEnded() {
    m_closing = true;
    if (!isBusy()) {
        close();
        return;
    }
    // The others are idle: one of the three runs at a time.
    connect(m_search.get(), &SearchController::ended, this, &QWidget::close);
    connect(m_compare.get(), &CompareController::ended, this, &QWidget::close);
    connect(m_train.get(), &TrainController::ended, this, &QWidget::close);
}

void MainWindow::stopAndClose() {
    closeWhenEnded();
    m_search->stop();
    m_compare->stop();
    m_train->stop();
}

void MainWindow::leaveAndClose() {
    closeWhenEnded();
    m_search->leave();
}

}  // namespace lpes::app
