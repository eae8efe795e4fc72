#include "widgets/panels/search_panel.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyle>
#include <QTimer>
#include <algorithm>
#include <array>
#include <utility>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"
#include "widgets/panels/progress_view.h"
#include "widgets/panels/search_form.h"

namespace lpes::widgets {
namespace {

constexpr int kMargin = 4;

struct Command {
    SearchCommand command;
    Shape shape;
    QString text, tip, name;
};

std::array<Command, 4> commands() {
    return {{
        {SearchCommand::Start, Shape::Play, QStringLiteral("Start"),
         QStringLiteral("Start a search with these settings"), QStringLiteral("Start the search")},
        {SearchCommand::Pause, Shape::Pause, QStringLiteral("Pause"),
         QStringLiteral("Pause after the prompt in flight; nothing that is done is lost"),
         QStringLiteral("Pause the search")},
        {SearchCommand::Resume, Shape::Resume, QStringLiteral("Resume"), QStringLiteral("Go on with the paused search"),
         QStringLiteral("Resume the search")},
        {SearchCommand::Stop, Shape::Stop, QStringLiteral("Stop"),
         QStringLiteral("End the search; everything done so far stays stored"), QStringLiteral("Stop the search")},
    }};
}

// With the minus sign that has the width of a digit.
QString fitnessText(double value) {
    return QLocale::c().toString(value, 'f', 3).replace(QLatin1Char('-'), QChar(0x2212));
}

QString fitnessLine(const SearchProgress& progress) {
    QStringList words;
    if (progress.bestFitness) words << QString(QStringLiteral("best ") % fitnessText(*progress.bestFitness));
    if (progress.baselineFitness) {
        words << QString(QStringLiteral("baseline ") % fitnessText(*progress.baselineFitness));
    }
    if (progress.bestFitness && progress.baselineFitness) {
        const double gain = *progress.bestFitness - *progress.baselineFitness;
        words << QString(QStringLiteral("gain ") % (gain >= 0.0 ? QStringLiteral("+") : QString()) % fitnessText(gain));
    }
    return joinedParts(words);
}

}  // namespace

struct SearchPanel::Impl {
    SearchFormEdit* form = nullptr;
    std::array<QPushButton*, 4> buttons{};
    QLabel *fitness = nullptr, *error = nullptr, *why = nullptr;
    ProgressView* view = nullptr;
    QScrollArea* scroll = nullptr;
    QString obstacle;
    SearchProgress progress;

    void paintIcons(const QPalette& palette) {
        const auto all = commands();
        for (std::size_t i = 0; i < all.size(); ++i) {
            buttons[i]->setIcon(shapeIcon(all[i].shape, palette.color(QPalette::ButtonText),
                                          palette.color(QPalette::Disabled, QPalette::ButtonText)));
        }
        QPalette colors = palette;
        colors.setColor(QPalette::WindowText, semanticColor(palette, Meaning::Error));
        error->setPalette(colors);
        why->setPalette(colors);
    }

    void update(SearchState state) {
        const auto all = commands();
        for (std::size_t i = 0; i < all.size(); ++i) {
            bool enabled = isAllowed(state, all[i].command);
            QString tip = all[i].tip;
            if (all[i].command == SearchCommand::Start && enabled) {
                const QString reason = obstacle.isEmpty() ? form->problem() : obstacle;
                if (!reason.isEmpty()) tip = reason;
                enabled = reason.isEmpty();
            }
            buttons[i]->setEnabled(enabled);
            buttons[i]->setToolTip(tip);
        }
        form->setLocked(state != SearchState::Idle);
        // Below the fields, which may be scrolled out of sight.
        why->setText(state == SearchState::Idle ? form->notice() : QString());
        why->setVisible(!why->text().isEmpty());

        view->display(state, progress);
        fitness->setText(fitnessLine(progress));
        fitness->setVisible(!fitness->text().isEmpty());
    }
};

SearchPanel::SearchPanel(QWidget* parent) : QWidget(parent), m(std::make_unique<Impl>()) {
    setAccessibleName(QStringLiteral("Search"));
    m->form = new SearchFormEdit(this);
    m->form->installEventFilter(this);
    m_task = &m->form->task();
    connect(m_task, &TaskFields::changed, this, &SearchPanel::taskChanged);
    auto* scroll = m->scroll = new QScrollArea(this);
    scroll->setMinimumHeight(90);
    scroll->setWidget(m->form);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);  // its fields have it, and it follows them
    scroll->setAccessibleName(QStringLiteral("Settings of the search"));

    auto* grid = new QGridLayout;
    grid->setSpacing(4);
    const auto all = commands();
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto* button = new QPushButton(all[i].text, this);
        button->setAccessibleName(all[i].name);
        button->setAutoDefault(false);
        m->buttons[i] = button;
        grid->addWidget(button, static_cast<int>(i / 2), static_cast<int>(i % 2));
    }
    connect(m->buttons[0], &QPushButton::clicked, this, [this] { Q_EMIT startRequested(form()); });
    connect(m->buttons[1], &QPushButton::clicked, this, &SearchPanel::pauseRequested);
    connect(m->buttons[2], &QPushButton::clicked, this, &SearchPanel::resumeRequested);
    connect(m->buttons[3], &QPushButton::clicked, this, &SearchPanel::stopRequested);
    connect(m->form, &SearchFormEdit::problemChanged, this, [this] { m->update(m_state); });
    connect(m->form, &SearchFormEdit::unfolded, this, [this] {
        // Only after what has been queued for the layouts is there room for it.
        QTimer::singleShot(0, this, [this] {
            QScrollBar* bar = m->scroll->verticalScrollBar();
            bar->setValue(bar->maximum());
        });
    });

    m->view = new ProgressView(QStringLiteral("search"), this);
    m->fitness = wordyLabel(this, QStringLiteral("Best fitness against the baseline"));
    m->error = wordyLabel(this, QStringLiteral("Error of the search"));
    m->error->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m->error->hide();
    m->why = wordyLabel(this, QStringLiteral("Why the search cannot start"));
    m->why->hide();

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    column->setSpacing(4);
    column->addWidget(scroll, 1);
    column->addWidget(m->why);
    column->addWidget(m->error);
    column->addLayout(grid);
    column->addWidget(m->view);
    column->addWidget(m->fitness);
    column->addStretch();
    m->paintIcons(palette());
    m->update(m_state);
}

SearchPanel::~SearchPanel() = default;

void SearchPanel::setDevices(const QStringList& devices) {
    m->form->setDevices(devices);
}

void SearchPanel::setOptimizers(const QStringList& names) {
    m->form->setOptimizers(names);
}

void SearchPanel::setObjectives(const QStringList& lists) {
    m->form->setObjectives(lists);
}

void SearchPanel::setCheck(SearchCheck check) {
    m->form->setCheck(std::move(check));
}

void SearchPanel::setUse(SearchUse use) {
    m->form->setUse(std::move(use));
}

void SearchPanel::setForm(const SearchForm& form) {
    m->form->setForm(form);
}

SearchForm SearchPanel::form() const {
    return m->form->form();
}

void SearchPanel::setState(SearchState state) {
    m_state = state;
    m->update(state);
}

void SearchPanel::setObstacle(const QString& reason) {
    m->obstacle = reason;
    m->update(m_state);
}

QString SearchPanel::problem() const {
    return m->form->problem();
}

void SearchPanel::setProgress(const SearchProgress& progress) {
    m->progress = progress;
    m->update(m_state);
}

void SearchPanel::setError(const QString& sentence) {
    m->error->setText(sentence);
    m->error->setVisible(!sentence.isEmpty());
}

void SearchPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitScroll();
}

void SearchPanel::fitScroll() {
    // No higher than the form, so that the buttons stand right below it in a tall dock.
    const QLayout* layout = m->form->layout();
    const int margins = 2 * kMargin;
    // For the width beside a scroll bar: once there, it would narrow the form, which then needs it.
    const int inner = width() - margins - style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    const int wrapped = layout->hasHeightForWidth() ? layout->totalHeightForWidth(inner) : 0;
    m->scroll->setMaximumHeight(std::max({wrapped, layout->totalMinimumSize().height(), m->scroll->minimumHeight()}));
}

bool SearchPanel::eventFilter(QObject* watched, QEvent* event) {
    // A reason below the fields came or went, or the font changed.
    if (watched == m->form && event->type() == QEvent::LayoutRequest) fitScroll();
    return QWidget::eventFilter(watched, event);
}

void SearchPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m->buttons[0] && m->error) m->paintIcons(palette());
}

}  // namespace lpes::widgets
