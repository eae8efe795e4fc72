#include "widgets/curve_editor/point_panel.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/common/number_field.h"
#include "widgets/curve_editor/curve_scene.h"

namespace lpes::widgets {
namespace {

using curve::ControlPoint;
using curve::CurveKind;

// A scale outside these is refused by the profile file too.
constexpr double kLowestScale = 0.01, kHighestScale = 100.0;

NumberField* field(const QString& name, double step, int decimals, QWidget* parent) {
    auto* made = new NumberField(parent);
    made->setObjectName(name);
    made->setStep(step);
    made->setDecimals(decimals);
    return made;
}

QPushButton* button(const QString& words, const QString& name, QWidget* parent) {
    auto* made = new QPushButton(words, parent);
    made->setObjectName(name);
    made->setAutoDefault(false);
    return made;
}

void addRow(QFormLayout* form, const QString& words, QWidget* input) {
    form->addRow(words, input);
    QString spoken = words;
    input->setAccessibleName(spoken.remove(QLatin1Char('&')));
}

}  // namespace

PointPanel::PointPanel(QWidget* parent) : QWidget(parent) {
    auto* all = new QVBoxLayout(this);

    auto* point = new QGroupBox(QStringLiteral("Control point"), this);
    auto* pointBox = new QVBoxLayout(point);
    auto* moves = new QHBoxLayout;
    m_previous = button(QStringLiteral("‹"), QStringLiteral("previous"), point);
    m_next = button(QStringLiteral("›"), QStringLiteral("next"), point);
    m_title = new QLabel(point);
    m_title->setObjectName(QStringLiteral("title"));
    m_title->setAlignment(Qt::AlignCenter);
    m_previous->setToolTip(QStringLiteral("Previous point (Shift+Tab in the plot)"));
    m_previous->setAccessibleName(QStringLiteral("Previous point"));
    m_next->setToolTip(QStringLiteral("Next point (Tab in the plot)"));
    m_next->setAccessibleName(QStringLiteral("Next point"));
    for (QPushButton* step : {m_previous, m_next}) step->setMaximumWidth(3 * fontMetrics().height());
    moves->addWidget(m_previous);
    moves->addWidget(m_title, 1);
    moves->addWidget(m_next);
    pointBox->addLayout(moves);
    auto* pointForm = new QFormLayout;
    m_layer = field(QStringLiteral("layer"), 1.0, 2, point);
    m_depth = field(QStringLiteral("depth"), 0.01, 4, point);
    m_scale = field(QStringLiteral("scale"), 0.01, 4, point);
    addRow(pointForm, QStringLiteral("&Layer"), m_layer);
    addRow(pointForm, QStringLiteral("Relative &depth"), m_depth);
    addRow(pointForm, QStringLiteral("&Scale s"), m_scale);
    pointBox->addLayout(pointForm);
    m_meaning = new QLabel(point);
    m_meaning->setObjectName(QStringLiteral("meaning"));
    m_meaning->setWordWrap(true);
    pointBox->addWidget(m_meaning);
    auto* edits = new QHBoxLayout;
    m_add = button(QStringLiteral("&Add point"), QStringLiteral("add"), point);
    m_add->setToolTip(
        QStringLiteral("Add a point; the curve stays, one of monotone cubics nearly (Insert in the plot)"));
    m_remove = button(QStringLiteral("&Remove point"), QStringLiteral("remove"), point);
    m_remove->setToolTip(QStringLiteral("Remove the selected point (Delete in the plot); the end points stay"));
    edits->addWidget(m_add);
    edits->addWidget(m_remove);
    pointBox->addLayout(edits);
    all->addWidget(point);

    auto* rules = new QGroupBox(QStringLiteral("Curve"), this);
    auto* rulesForm = new QFormLayout(rules);
    m_kind = new QComboBox(rules);
    m_kind->setObjectName(QStringLiteral("kind"));
    m_kind->addItem(QStringLiteral("Bézier"), static_cast<int>(CurveKind::Bezier));
    m_kind->addItem(QStringLiteral("Straight lines"), static_cast<int>(CurveKind::Linear));
    m_kind->addItem(QStringLiteral("Monotone cubics"), static_cast<int>(CurveKind::Monotone));
    m_kind->addItem(QStringLiteral("Steps"), static_cast<int>(CurveKind::Step));
    m_kind->addItem(QStringLiteral("Free, layer by layer"), static_cast<int>(CurveKind::Free));
    m_low = field(QStringLiteral("low"), 0.05, 4, rules);
    m_high = field(QStringLiteral("high"), 0.05, 4, rules);
    m_grid = field(QStringLiteral("grid"), 0.01, 4, rules);
    m_grid->setRange(0.0, 10.0);
    m_grid->setToolTip(QStringLiteral("Scales are rounded to multiples of it; 0 rounds nothing"));
    addRow(rulesForm, QStringLiteral("&Kind"), m_kind);
    addRow(rulesForm, QStringLiteral("Lo&west scale"), m_low);
    addRow(rulesForm, QStringLiteral("&Highest scale"), m_high);
    addRow(rulesForm, QStringLiteral("Search &grid"), m_grid);
    all->addWidget(rules);

    m_problem = new QLabel(this);
    m_problem->setObjectName(QStringLiteral("problem"));
    m_problem->setWordWrap(true);
    all->addWidget(m_problem);
    all->addStretch(1);

    connect(m_layer, &NumberField::valueEdited, this, [this](double layer) {
        if (m_layers > 1) editPoint({layer / (m_layers - 1.0), m_scale->value()});
    });
    connect(m_depth, &NumberField::valueEdited, this, [this](double depth) { editPoint({depth, m_scale->value()}); });
    connect(m_scale, &NumberField::valueEdited, this, [this](double scale) { editPoint({m_depth->value(), scale}); });
    for (NumberField* rule : {m_low, m_high, m_grid}) {
        connect(rule, &NumberField::valueEdited, this, &PointPanel::editRules);
    }
    for (NumberField* input : {m_layer, m_depth, m_scale, m_low, m_high, m_grid}) {
        connect(input, &NumberField::noticeChanged, this, [this](const QString& notice) {
            m_notice = notice;
            showProblem();
        });
    }
    connect(m_kind, &QComboBox::activated, this, &PointPanel::editKind);
    connect(m_previous, &QPushButton::clicked, this,
            [this] { choose(m_selected < 0 ? static_cast<int>(m_draft.points.size()) - 1 : m_selected - 1); });
    connect(m_next, &QPushButton::clicked, this, [this] { choose(m_selected + 1); });
    connect(m_add, &QPushButton::clicked, this, &PointPanel::addPointRequested);
    connect(m_remove, &QPushButton::clicked, this, &PointPanel::removePointRequested);
    refresh();
}

void PointPanel::setModel(int numLayers, int trainedContext) {
    m_layers = std::max(1, numLayers);
    m_trainedContext = trainedContext;
    refresh();
}

void PointPanel::setDraft(const CurveDraft& draft) {
    m_draft = draft;
    refresh();
}

void PointPanel::setSelected(int index) {
    m_selected = index;
    refresh();
}

void PointPanel::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange && m_problem) showProblem();  // another red for another ground
    QWidget::changeEvent(event);
}

void PointPanel::choose(int index) {
    setSelected(index);
    Q_EMIT pointSelected(index);
}

void PointPanel::refresh() {
    const auto count = static_cast<int>(m_draft.points.size());
    if (m_selected >= count || m_selected < 0) m_selected = -1;
    const bool any = m_selected >= 0;
    const bool free = m_draft.kind == CurveKind::Free;
    const bool inner = m_selected > 0 && m_selected < count - 1;
    const curve::Constraints& rules = m_draft.constraints;
    m_title->setText(any ? QString(QStringLiteral("Point ") % QString::number(m_selected) % QStringLiteral(" (0 to ") %
                                   QString::number(count - 1) % QStringLiteral(")"))
                         : QStringLiteral("None selected"));
    m_previous->setEnabled(count > 0 && m_selected != 0);
    m_next->setEnabled(count > 0 && m_selected != count - 1);
    m_add->setEnabled(withPointAdded(m_draft).has_value());
    m_remove->setEnabled(any && withPointRemoved(m_draft, m_selected).has_value());
    m_layer->setEnabled(inner && !free && m_layers > 1);
    m_depth->setEnabled(inner && !free);
    m_scale->setEnabled(any);
    if (any) {
        const auto at = static_cast<std::size_t>(m_selected);
        const ControlPoint& point = m_draft.points[at];
        const double left = inner ? m_draft.points[at - 1].x : 0.0, right = inner ? m_draft.points[at + 1].x : 1.0;
        const double last = m_layers - 1.0;
        m_layer->setRange(left * last, right * last);
        m_depth->setRange(left, right);
        m_scale->setRange(rules.scaleMin, rules.scaleMax);
        m_layer->setValue(point.x * last);
        m_depth->setValue(point.x);
        m_scale->setValue(point.y);
        QString words = point.y > 0.0 ? QString(QStringLiteral("1/s = ") % shortNumber(1.0 / point.y)) : QString();
        if (point.y > 0.0 && m_trainedContext > 0) {
            words += QString(QStringLiteral(" · effective context ") % tokenCount(point.y * m_trainedContext) %
                             QStringLiteral(" tokens"));
        }
        m_meaning->setText(words);
    } else {
        for (NumberField* input : {m_layer, m_depth, m_scale}) input->setEmpty();
        m_meaning->setText(QStringLiteral("Click a point in the plot, or press Tab there."));
    }
    m_kind->setCurrentIndex(m_kind->findData(static_cast<int>(m_draft.kind)));
    m_low->setRange(kLowestScale, std::max(kLowestScale, rules.scaleMax));
    m_high->setRange(std::max(kLowestScale, rules.scaleMin), kHighestScale);
    m_low->setValue(rules.scaleMin);
    m_high->setValue(rules.scaleMax);
    m_grid->setValue(rules.gridStep.value_or(0.0));
    showProblem();
}

void PointPanel::showProblem() {
    QString words = m_notice;
    if (!m_draft.points.empty()) {
        if (const auto broken = curve::violation(m_draft.kind, m_draft.points, m_draft.constraints)) {
            words = text(*broken);
        }
    }
    const bool dark = palette().color(QPalette::Window).lightnessF() < 0.5F;
    QPalette red = palette();
    red.setColor(QPalette::WindowText, dark ? QColor(0xff, 0x8a, 0x80) : QColor(0xb3, 0x1b, 0x1b));
    m_problem->setPalette(red);
    m_problem->setText(words);
}

void PointPanel::editPoint(ControlPoint wanted) {
    commit(withPointMoved(m_draft, m_selected, wanted),
           QString(QStringLiteral("move point ") % QString::number(m_selected)));
}

void PointPanel::editRules() {
    CurveDraft after = m_draft;
    after.constraints.scaleMin = m_low->value();
    after.constraints.scaleMax = m_high->value();
    after.constraints.gridStep.reset();
    if (m_grid->value() > 0.0) after.constraints.gridStep = m_grid->value();
    commit(after, after.constraints.gridStep == m_draft.constraints.gridStep
                      ? QStringLiteral("change the allowed range")
                      : QStringLiteral("change the search grid"));
}

void PointPanel::editKind() {
    const auto kind = static_cast<CurveKind>(m_kind->currentData().toInt());
    const CurveDraft after = withKind(m_draft, kind, m_layers);
    if (after == m_draft) return refresh();  // not possible: the box goes back
    commit(after, QStringLiteral("change the kind of curve"));
}

void PointPanel::commit(const CurveDraft& after, const QString& what) {
    if (after == m_draft) return;
    const CurveDraft before = m_draft;
    m_draft = after;
    refresh();
    Q_EMIT draftCommitted(before, after, what);
}

}  // namespace lpes::widgets
