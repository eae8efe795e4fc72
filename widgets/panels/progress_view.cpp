#include "widgets/panels/progress_view.h"

#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "widgets/common/form_fields.h"

namespace lpes::widgets {
namespace {

constexpr int kSteps = 1000;  // of the progress bar
constexpr qsizetype kLongestStage = 36;

QString rateLine(const SearchProgress& progress) {
    QStringList words;
    if (progress.ratePerSecond > 0.0) {
        const int decimals = progress.ratePerSecond < 1.0 ? 2 : 1;
        words << QString(QLocale::c().toString(progress.ratePerSecond, 'f', decimals) % QStringLiteral(" prompts/s"));
    }
    if (progress.etaSeconds >= 0.0) {
        words << QString(durationText(progress.etaSeconds) % QStringLiteral(" left"));
    }
    if (progress.elapsedSeconds > 0.0) {
        words << QString(durationText(progress.elapsedSeconds) % QStringLiteral(" so far"));
    }
    return joinedParts(words);
}

QString stageLine(SearchState state, const SearchProgress& progress) {
    QStringList words{searchStateName(state)};
    // A stage may name a method with a long spelling, and would widen the dock.
    QString stage = progress.stage;
    if (stage.size() > kLongestStage) {
        const qsizetype half = kLongestStage / 2;
        stage = QString(stage.left(half) % QChar(0x2026) % stage.right(half));
    }
    if (!stage.isEmpty()) words << stage;
    if (progress.total > 0) {
        words << QString(QString::number(progress.done) % QStringLiteral(" of ") % QString::number(progress.total) %
                         QStringLiteral(" prompts"));
    } else if (progress.done > 0) {
        words << QString(QString::number(progress.done) % QStringLiteral(" prompts"));
    }
    QString line = joinedParts(words);
    if (!line.isEmpty()) line[0] = line[0].toUpper();
    return line;
}

}  // namespace

QString joinedParts(QStringList parts) {
    for (QString& part : parts) part.replace(QLatin1Char(' '), QChar(QChar::Nbsp));
    return parts.join(QStringLiteral(" · "));
}

ProgressView::ProgressView(const QString& what, QWidget* parent)
    : QWidget(parent),
      m_stage(wordyLabel(this, QString(QStringLiteral("State of the ") % what))),
      m_rate(wordyLabel(this, QString(QStringLiteral("Rate and time of the ") % what))),
      m_bar(new QProgressBar(this)) {
    m_bar->setAccessibleName(QString(QStringLiteral("Progress of the ") % what));
    m_bar->setRange(0, kSteps);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_stage);
    column->addWidget(m_bar);
    column->addWidget(m_rate);
}

void ProgressView::display(SearchState state, const SearchProgress& progress) {
    m_stage->setText(stageLine(state, progress));
    // Without a total the bar stays empty: a moving one would say no more than the words do.
    const double share =
        progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 0.0;
    m_bar->setValue(static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kSteps)));
    m_bar->setFormat(progress.total > 0 ? QStringLiteral("%p %") : QString());
    m_bar->setVisible(state != SearchState::Idle || progress.total > 0);
    m_rate->setText(rateLine(progress));
    m_rate->setVisible(!m_rate->text().isEmpty());
}

}  // namespace lpes::widgets
