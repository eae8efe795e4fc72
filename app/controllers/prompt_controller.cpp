#include "app/controllers/prompt_controller.h"

namespace lpes::app {

namespace {

constexpr int kPauseMs = 250;

}  // namespace

PromptController::PromptController(widgets::PromptView& view, std::vector<PromptSource> sources, QObject* parent)
    : QObject(parent), m_view(view), m_sources(std::move(sources)) {
    QStringList names;
    for (const PromptSource& source : m_sources) names << source.name;
    m_view.setSources(names);
    m_pause.setSingleShot(true);
    m_pause.setInterval(kPauseMs);
    connect(&m_pause, &QTimer::timeout, this, &PromptController::refreshIfSeen);
    connect(&m_view, &widgets::PromptView::shown, this, [this] {
        if (m_stale) refresh();
    });
    connect(&m_view, &widgets::PromptView::sourceChosen, this, &PromptController::choose);
    connect(&m_view, &widgets::PromptView::numberChosen, this, [this](qint64 number) {
        m_id.reset();
        m_number = number;
        refresh();
    });
    connect(&m_view, &widgets::PromptView::idChosen, this, [this](const QString& id) {
        m_id = id.toStdString();
        refresh();
    });
    connect(&m_view, &widgets::PromptView::positionChosen, this, [this](const QString& position) {
        m_position = position.toStdString();
        refresh();
    });
    connect(&m_job, &PromptJob::ready, this, [this](const widgets::PromptFacts& facts) {
        // An id that was typed is one number from now on: other data has other ids.
        m_id.reset();
        m_number = facts.number;
        m_view.setFacts(facts);
    });
    connect(&m_job, &PromptJob::failed, this, [this](const Error& error) {
        m_id.reset();
        m_view.setError(QString::fromStdString(error.text()));
    });
}

void PromptController::setModel(std::shared_ptr<const ReadyModel> model) {
    m_model = std::move(model);
    m_stale = true;
    refreshIfSeen();
}

void PromptController::formChanged() {
    m_stale = true;
    m_pause.start();
}

void PromptController::choose(int source) {
    m_view.setSource(source);
    m_stale = true;
    refreshIfSeen();
}

void PromptController::refreshIfSeen() {
    if (m_stale && m_view.isVisible()) refresh();
}

void PromptController::refresh() {
    m_stale = false;
    m_job.drop();
    if (!m_model) return m_view.setEmpty(tr("Open a model first: its tokenizer counts the prompt."));
    const PromptSource::Items wanted = m_sources.at(static_cast<std::size_t>(m_view.source())).items();
    if (!wanted.problem.isEmpty()) return m_view.setError(wanted.problem);
    m_view.setBusy(true);
    m_job.request({m_model, wanted.task, wanted.count, m_id, m_number, m_position, wanted.score});
}

}  // namespace lpes::app
