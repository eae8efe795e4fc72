#include <QTabWidget>

#include "app/controllers/compare_controller.h"
#include "app/controllers/prompt_controller.h"
#include "app/controllers/search_controller.h"
#include "app/main_window.h"
#include "app/pages/compare_page.h"
#include "core/studies/search_setup.h"
#include "widgets/panels/prompt_view.h"

namespace lpes::app {

namespace {

constexpr int kSearchItems = 0, kComparedItems = 1;  // places of the sources

}  // namespace

void MainWindow::wirePrompt() {
    std::vector<PromptSource> sources(2);
    sources[kSearchItems] = {tr("Search settings"), [this] {
                                 const auto settings = m_search->settingsOf(m_searchPanel->form());
                                 return PromptSource::Items{settings.task, studies::itemsNeeded(settings),
                                                            m_searchPanel->task().problem(), settings.score};
                             }};
    sources[kComparedItems] = {tr("Comparison"), [this] {
                                   const auto settings = m_compare->settingsOf(m_comparePage->panel().form());
                                   return PromptSource::Items{settings.task, settings.task.limit.value_or(100),
                                                              m_comparePage->panel().task().problem(), settings.score};
                               }};
    m_prompts = std::make_unique<PromptController>(*m_promptView, std::move(sources), nullptr);
    connect(m_searchPanel, &widgets::SearchPanel::taskChanged, m_prompts.get(), &PromptController::formChanged);
    connect(&m_comparePage->panel(), &widgets::ComparePanel::taskChanged, m_prompts.get(),
            &PromptController::formChanged);
}

void MainWindow::showPrompt() {
    if (m_workspaces->currentIndex() == Compare) m_prompts->choose(kComparedItems);
    if (m_workspaces->currentIndex() == Search || m_workspaces->currentIndex() == Edit) m_prompts->choose(kSearchItems);
    setWorkspace(Inspect);
    m_inspect->setCurrentWidget(m_promptView);
    m_promptView->focusItem();
}

}  // namespace lpes::app
