#include "widgets/models/method_table_model.h"

#include <QFont>
#include <QGuiApplication>
#include <QIcon>
#include <QLocale>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "widgets/common/guardrail_light.h"
#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

using Method = analysis::MethodsPlot::Method;
using analysis::Estimate;
using Model = MethodTableModel;

constexpr int kMarkSize = 10;
constexpr double kBytesPerMiB = 1024.0 * 1024.0;

QString dash() {
    return QStringLiteral("–");
}

QString fixed(double value, int decimals) {
    if (!std::isfinite(value)) return dash();
    return QLocale::c().toString(value, 'f', decimals).replace(QLatin1Char('-'), QChar(0x2212));
}

QString withInterval(const Estimate& estimate, int decimals) {
    QString words = fixed(estimate.value, decimals);
    if (std::isfinite(estimate.low) && std::isfinite(estimate.high)) {
        words += QString(QStringLiteral(" [") % fixed(estimate.low, decimals) % QStringLiteral(", ") %
                         fixed(estimate.high, decimals) % QLatin1Char(']'));
    }
    return words;
}

QString pText(double p) {
    if (!std::isfinite(p)) return dash();
    return QLocale::c().toString(p, p < 0.001 ? 'g' : 'f', p < 0.001 ? 2 : 3);
}

struct Heading {
    const char16_t *name, *tip;
};

constexpr std::array<Heading, Model::kColumns> kHeadings{{
    {u"Method", u"As it is written; the first is what the others are compared with"},
    {u"Accuracy [95 %]", u"Share of right answers, mean over positions, with a bootstrap interval over items"},
    {u"Gap [95 %]",
     u"Accuracy at the best position minus accuracy at the worst, with a bootstrap interval over items, which reaches "
     u"down to 0 unless the test over positions finds a bias; smaller is better"},
    {u"NLL (nats) [95 %]",
     u"Negative log-likelihood of the answer per token, mean over positions, with a bootstrap interval over items; "
     u"smaller is better"},
    {u"Δ NLL (nats) [95 %]",
     u"Answer NLL minus that of the first method, paired bootstrap over items; below 0 is "
     u"better"},
    {u"p, Holm",
     u"Paired bootstrap on the answer NLL of each item against the first method, two-sided, adjusted over the methods; "
     u"none below 10 items"},
    {u"Δ score [95 %]", u"Mean score minus that of the first method, paired bootstrap over items; above 0 is better"},
    {u"Guardrail", u"What the method does to short contexts against the first: perplexity and short questions"},
    {u"Time ratio [95 %]", u"Median ratio of the time for the same prompts, measured in turns"},
    {u"Tokens/s", u"Prompt tokens read per second"},
    {u"Memory (MiB)", u"Peak beside the loaded weights, for the largest pass"},
    {u"Passes", u"Forward passes of the whole model for each prompt"},
    {u"Attentions", u"Attentions in each layer of one pass"},
    {u"Verdict", u"On the answer NLL against the first method"},
}};

/// What a column sorts by; NaN where it is unknown.
double valueOf(const Method& method, int column) {
    switch (column) {
        case Model::Accuracy:
            return method.accuracy.value;
        case Model::Gap:
            return method.gap.value;
        case Model::AnswerNll:
            return method.answerNll.value;
        case Model::NllDifference:
            return method.nllDifference.value;
        case Model::PValue:
            return method.pHolm;
        case Model::ScoreDifference:
            return method.scoreDifference.value;
        case Model::TimeRatio:
            return method.timeRatio.value;
        case Model::TokensPerSecond:
            return method.tokensPerSecond;
        case Model::PeakMemory:
            return method.peakBytes;
        case Model::Passes:
            return static_cast<double>(method.passes);
        case Model::Attentions:
            return static_cast<double>(method.attentionsPerLayer);
        default:
            return std::numeric_limits<double>::quiet_NaN();
    }
}

/// +1: more is better, −1: less is; 0: the column has no best.
int directionOf(int column) {
    switch (column) {
        case Model::Accuracy:
        case Model::TokensPerSecond:
            return 1;
        case Model::Gap:
        case Model::AnswerNll:
        case Model::PeakMemory:
            return -1;
        default:
            return 0;
    }
}

QString textOf(const Method& method, int column) {
    switch (column) {
        case Model::Name:
            return QString::fromStdString(method.name);
        case Model::Accuracy:
            return withInterval(method.accuracy, 3);
        case Model::Gap:
            return withInterval(method.gap, 3);
        case Model::AnswerNll:
            return withInterval(method.answerNll, 3);
        case Model::NllDifference:
            return withInterval(method.nllDifference, 3);
        case Model::PValue:
            return pText(method.pHolm);
        case Model::ScoreDifference:
            return withInterval(method.scoreDifference, 3);
        case Model::Guardrail:
            return method.guardrail.empty() ? dash() : QString::fromStdString(method.guardrail);
        case Model::TimeRatio:
            return withInterval(method.timeRatio, 2);
        case Model::TokensPerSecond:
            return fixed(method.tokensPerSecond, method.tokensPerSecond < 10.0 ? 1 : 0);
        case Model::PeakMemory:
            return fixed(method.peakBytes / kBytesPerMiB, method.peakBytes < 10.0 * kBytesPerMiB ? 1 : 0);
        case Model::Passes:
        case Model::Attentions:
            return fixed(valueOf(method, column), 0);
        case Model::Verdict:
            return method.verdict.empty() ? dash()
                                          : QString::fromStdString(method.verdict.substr(0, method.verdict.find(':')));
        default:
            return {};
    }
}

/// How sure the difference of the score is: what its cell has no room for.
QStringList scoreTests(const Method& method) {
    if (!std::isfinite(method.scoreHolm)) return {};
    QStringList lines{QString(QStringLiteral("p = ") % pText(method.scoreHolm) % QStringLiteral(", Holm"))};
    QStringList byPosition;
    for (const double p : method.mcnemarHolm) byPosition << pText(p);
    if (!byPosition.isEmpty())
        lines << QString(QStringLiteral("McNemar's exact test by position, p, Holm: ") %
                         byPosition.join(QStringLiteral(", ")));
    return lines;
}

bool isNumber(int column) {
    return column != Model::Name && column != Model::Verdict && column != Model::Guardrail;
}

/// A word between two columns of figures stands in the middle, clear of both.
Qt::Alignment alignmentOf(int column) {
    const Qt::AlignmentFlag side = isNumber(column) ? Qt::AlignRight : Qt::AlignLeft;
    return (column == Model::Guardrail ? Qt::AlignHCenter : side) | Qt::AlignVCenter;
}

QVariant sortValueOf(const Method& method, int column) {
    if (column == Model::Guardrail) {
        // From green to red; what was not measured is last.
        constexpr const char* kLights[] = {"green", "amber", "red"};
        return static_cast<int>(std::find(std::begin(kLights), std::end(kLights), method.guardrail) - kLights);
    }
    if (!isNumber(column)) return textOf(method, column);
    const double value = valueOf(method, column);
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

void MethodTableModel::setMethods(const analysis::MethodsPlot& plot) {
    const auto sameNames = [&] {
        if (plot.methods.size() != m_methods.size()) return false;
        for (std::size_t i = 0; i < m_methods.size(); ++i) {
            if (plot.methods[i].name != m_methods[i].name) return false;
        }
        return true;
    };
    if (sameNames()) {
        m_methods = plot.methods;
        if (!m_methods.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
        return;
    }
    beginResetModel();
    m_methods = plot.methods;
    endResetModel();
}

bool MethodTableModel::isBest(int row, int column) const {
    const int direction = directionOf(column);
    if (direction == 0) return false;
    std::optional<double> best;
    bool differ = false;
    for (const Method& method : m_methods) {
        const double value = valueOf(method, column);
        if (!std::isfinite(value)) continue;
        differ = differ || (best && value != *best);
        if (!best || direction * value > direction * *best) best = value;
    }
    return differ && valueOf(m_methods[static_cast<std::size_t>(row)], column) == *best;
}

int MethodTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_methods.size());
}

int MethodTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QVariant MethodTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= kColumns) return {};
    const Method& method = m_methods[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole:
            return textOf(method, column);
        case Qt::FontRole: {
            if (!isBest(index.row(), column)) return {};
            QFont bold = QGuiApplication::font();
            bold.setBold(true);
            return bold;
        }
        case Qt::DecorationRole: {
            if (column == Guardrail) {
                return guardrailDot(QGuiApplication::palette(), QString::fromStdString(method.guardrail), kMarkSize);
            }
            if (!isBest(index.row(), column)) return {};
            const QPalette palette = QGuiApplication::palette();
            QIcon mark(shapePixmap(Shape::Triangle, semanticColor(palette, Meaning::Good), kMarkSize));
            mark.addPixmap(shapePixmap(Shape::Triangle, palette.color(QPalette::HighlightedText), kMarkSize),
                           QIcon::Selected);
            return mark;
        }
        case Qt::ToolTipRole: {
            // Long spellings and sentences are cut in their cells.
            const bool sentence = column == Verdict && !method.verdict.empty();
            if (column == Guardrail && !method.guardrail.empty()) {
                return QString(QString::fromStdString(method.guardrail) % QStringLiteral(": ") %
                               QString::fromStdString(method.guardrailReason) % QLatin1Char('\n') %
                               QString::fromStdString(method.guardrailDetail));
            }
            QStringList lines{sentence ? QString::fromStdString(method.verdict) : textOf(method, column)};
            if (column == ScoreDifference) lines << scoreTests(method);
            if (isBest(index.row(), column)) lines << QStringLiteral("Best value of this column");
            if (column == Name && index.row() == 0) lines << QStringLiteral("What the others are compared with");
            return lines.join(QLatin1Char('\n'));
        }
        case Qt::AccessibleTextRole:
            return isBest(index.row(), column) ? QString(textOf(method, column) % QStringLiteral(", best"))
                                               : textOf(method, column);
        case Qt::TextAlignmentRole:
            return QVariant(alignmentOf(column));
        case kSortRole:
            return sortValueOf(method, column);
        default:
            return {};
    }
}

QVariant MethodTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
    const Heading& heading = kHeadings[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return QString::fromUtf16(heading.name);
    if (role == Qt::ToolTipRole) return QString::fromUtf16(heading.tip);
    if (role == Qt::TextAlignmentRole) {
        return QVariant(alignmentOf(section));
    }
    return {};
}

}  // namespace lpes::widgets
