#include "app/controllers/live_controller.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "app/document.h"
#include "app/pages/edit_page.h"
#include "core/base/clock.h"
#include "core/rope/rope_config.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/inspector_panel.h"
#include "widgets/panels/plot_pane.h"

namespace lpes::app {

using namespace std::chrono_literals;

namespace {

/// A computation that shows nothing for so long is given up for a newer curve even during a drag.
constexpr double kPatience = 0.25;
/// A picture that is older than its curve for longer than this is drawn as stale.
constexpr auto kStaleAfter = 300ms;

QString ageText(double seconds) {
    if (seconds < 10.0) return QObject::tr("%1 s ago").arg(seconds, 0, 'f', 1);
    if (seconds < 90.0) return QObject::tr("%1 s ago").arg(std::lround(seconds));
    return QObject::tr("%1 min ago").arg(std::lround(seconds / 60.0));
}

}  // namespace

LiveController::LiveController(Document& document, EditPage& page, widgets::InspectorPanel& inspector, QObject* parent)
    : QObject(parent), m_document(document), m_page(page), m_inspector(inspector) {
    m_interval.setSingleShot(true);
    m_staleness.setSingleShot(true);
    m_age.setInterval(1000);
    connect(&m_job, &LiveJob::picturesReady, this, &LiveController::show);
    connect(&m_job, &LiveJob::failed, this, [this](std::uint64_t, const Error& error) {
        const QString sentence = QString::fromStdString(error.text());
        m_staleness.stop();
        m_page.attention().setError(sentence);
        m_page.deviation().setError(sentence);
    });
    connect(&m_interval, &QTimer::timeout, this, [this] {
        if (m_next) ask(rope::LayerScales(*m_next));
    });
    connect(&m_staleness, &QTimer::timeout, this, [this] {
        if (isUpToDate() || !m_shown) return;
        const QString words = tr("computing for the new curve …");
        m_page.attention().setStale(words);
        m_page.deviation().setStale(words);
    });
    connect(&m_age, &QTimer::timeout, this, &LiveController::tellFreshness);
    connect(&page.editor(), &widgets::CurveEditor::draftPreviewed, this, &LiveController::preview);
    connect(&page.editor(), &widgets::CurveEditor::draftAbandoned, this, &LiveController::changed);
    connect(&document, &Document::draftChanged, this, &LiveController::changed);
}

void LiveController::setModel(std::shared_ptr<const ReadyModel> model, const studies::TaskSpec& task) {
    m_model = std::move(model);
    m_shown.reset();
    m_deviationTicket = 0;
    m_asked.clear();
    m_next.reset();
    m_applied.clear();
    m_job.setSubject(m_model, task);
    m_page.attention().setEmpty(tr("Computing the first picture …"));
    m_page.deviation().setEmpty(tr("Computing the first picture …"));
    changed();
    m_age.start();
}

void LiveController::clearModel(const QString& why) {
    m_model.reset();
    m_shown.reset();
    m_age.stop();
    m_staleness.stop();
    m_interval.stop();
    m_job.setSubject(nullptr, {});
    m_page.attention().setEmpty(why);
    m_page.deviation().setEmpty(why);
}

bool LiveController::isUpToDate() const {
    return !m_broken && m_shown && m_shown->complete && m_shown->ticket == m_job.newestTicket() && !m_next;
}

void LiveController::preview(const widgets::CurveDraft& draft) {
    if (!m_model) return;
    rope::LayerScales scales = widgets::decodedScales(draft, m_model->model.config().numLayers);
    if (!accept(scales)) return;
    if (scales == m_asked) {
        m_next.reset();
        return;
    }
    // While the curve is dragged, a request follows when the one before has shown its first picture: sooner would
    // abandon every computation before it shows anything, and the pictures would stand still until the mouse does.
    const double since = m_sinceRequest.isValid() ? static_cast<double>(m_sinceRequest.elapsed()) / 1000.0 : kPatience;
    if (m_answered || since >= kPatience) {
        ask(scales);
        return;
    }
    m_next = std::move(scales);
    if (!m_interval.isActive()) m_interval.start(static_cast<int>((kPatience - since) * 1000.0) + 1);
}

void LiveController::changed() {
    if (!m_model) return;
    rope::LayerScales scales = m_document.scales();
    if (!accept(scales)) return;
    m_next.reset();
    if (scales != m_asked) ask(scales);
}

bool LiveController::accept(const rope::LayerScales& scales) {
    const bool mended = m_broken && !scales.empty();
    m_broken = scales.empty();
    if (m_broken) {
        const QString words = tr("of the last curve that kept the rules");
        m_page.attention().setStale(words);
        m_page.deviation().setStale(words);
        return false;
    }
    // What was verified was verified for other scales.
    if (scales != m_asked) m_applied.clear();
    showLayers(scales);
    if (mended && m_shown && scales == m_asked) {
        m_deviationTicket = 0;
        show(LivePictures(*m_shown));
    }
    return true;
}

void LiveController::ask(const rope::LayerScales& scales) {
    m_asked = scales;
    m_next.reset();
    m_interval.stop();
    m_sinceRequest.start();
    m_answered = false;
    m_job.request(m_asked);
    if (!m_staleness.isActive()) m_staleness.start(kStaleAfter);
}

void LiveController::show(const LivePictures& pictures) {
    m_shown = pictures;
    const bool newest = pictures.ticket == m_job.newestTicket();
    if (newest) {
        m_answered = true;
        m_staleness.stop();
    }
    if (newest && !m_next && pictures.applied) {
        m_applied = pictures.applied->verified
                        ? tr("applied, verified: every layer uses its own positions (largest rounding %1)")
                              .arg(pictures.applied->maxAbsError, 0, 'g', 2)
                        : tr("NOT applied: layer %1 does not use its own positions (error %2)")
                              .arg(pictures.applied->worstLayer)
                              .arg(pictures.applied->maxAbsError, 0, 'g', 2);
        showLayers(m_asked);
    }
    m_page.setCaption(QString::fromStdString(pictures.pictures.sample));
    m_page.attention().setData(pictures.pictures.attention, freshness(pictures.pictures.prompts));
    // Later prompts of the same answer bring nothing new for the deviation.
    if (m_deviationTicket != pictures.ticket) {
        m_deviationTicket = pictures.ticket;
        m_page.deviation().setData(pictures.pictures.deviation, freshness(1));
    }
    // Of a curve that is no longer the one above: better than nothing while a drag goes on, but not for long.
    if (!newest && !m_staleness.isActive()) m_staleness.start(kStaleAfter);
    Q_EMIT picturesShown();
    if (m_next) ask(rope::LayerScales(*m_next));
}

QString LiveController::freshness(int prompts) const {
    const QString from = prompts == 1 ? tr("from 1 prompt") : tr("from %1 prompts").arg(prompts);
    const double age = steadySeconds() - m_shown->computedAt;
    return from + QStringLiteral(", ") + ageText(std::max(0.0, age));
}

void LiveController::tellFreshness() {
    if (!m_shown || !isUpToDate()) return;
    m_page.attention().setFreshness(freshness(m_shown->pictures.prompts));
    m_page.deviation().setFreshness(freshness(1));
}

void LiveController::showLayers(const rope::LayerScales& scales) {
    if (!m_model) return;
    const model::ModelConfig& config = m_model->model.config();
    std::vector<widgets::ModelFacts::Layer> layers;
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        const double scale = scales[layer];
        const std::vector<double> theta =
            rope::inverseFrequencies(config.ropeOf(static_cast<int>(layer)), config.contextLength);
        layers.push_back({static_cast<int>(layer), scale, scale * config.contextLength,
                          2.0 * std::numbers::pi / theta.front() * scale, 2.0 * std::numbers::pi / theta.back() * scale,
                          scale == 1.0 ? tr("unchanged") : m_document.origin()});
    }
    m_inspector.setLayers(layers, m_applied);
}

}  // namespace lpes::app
