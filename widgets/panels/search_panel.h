#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "widgets/panels/task_form.h"

namespace lpes::widgets {

/// Where a search job stands. The window's job and the panel's buttons share this one table.
enum class SearchState {
    Idle,      ///< no job; a search can be started
    Starting,  ///< model and items are being prepared; no run in the data base yet
    Running,
    Pausing,   ///< pause was asked for; the item in flight is being finished
    Paused,    ///< the run is stored and waits, data base still held
    Stopping,  ///< stop was asked for
};
enum class SearchCommand { Start, Pause, Resume, Stop };
/// Does the command make sense in that state? Start: Idle. Pause: Running. Resume: Paused. Stop: Starting, Running,
/// Pausing, Paused. thread-safe.
[[nodiscard]] bool isAllowed(SearchState state, SearchCommand command);
[[nodiscard]] QString searchStateName(SearchState state);  ///< "idle", "starting", "running", …

/// The settings that the form offers; everything else keeps the study's value. A value.
struct SearchForm {
    QString host;  ///< user@machine that ssh reaches; empty: this machine
    QString device = QStringLiteral("cpu");
    std::uint64_t seed = 1;
    TaskForm task;  ///< an empty score is nll
    QString optimizer = QStringLiteral("genetic");
    int population = 12, generations = 6;
    int refined = 0;  ///< best individuals of a genetic search that a descent takes on in every generation
    int searchItems = 16, selectItems = 16, reportItems = 40;
    std::optional<double> timeLimitMinutes;
    // As typed, for SearchCheck to judge; empty: the rule does not apply.
    QString guardrailLimit;  ///< percent by which a candidate may worsen short-context perplexity
    QString objectives;      ///< "middle,ends"
    QString racing;          ///< probability with which a race wrongly gives a candidate up
    QString target;          ///< best fitness at which the search ends
    friend bool operator==(const SearchForm&, const SearchForm&) = default;
};

/// The texts of the form whose rules are the core's.
enum class SearchText { GuardrailLimit, Objectives, Racing, Target };
/// Why a text that is not empty is refused in a form as it stands ("--racing 'x' is not a number from 0"); empty when
/// it is not.
using SearchCheck = std::function<QString(SearchText text, const SearchForm& form)>;

/// The numbers of the form that some searches do not look at.
enum class SearchNumber { Population, Refined };
/// Why a number has no effect in a form as it stands ("No effect with --optimizer gradient"); empty when it has one.
using SearchUse = std::function<QString(SearchNumber number, const SearchForm& form)>;

/// What a running search says of itself.
struct SearchProgress {
    QString stage;                     ///< "generation 3 of 6"
    std::int64_t done = 0, total = 0;  ///< prompts; total 0 = unknown
    double ratePerSecond = 0.0;        ///< prompts per second, 0 = unknown
    double etaSeconds = -1.0;          ///< negative = unknown
    double elapsedSeconds = 0.0;
    std::optional<double> bestFitness, baselineFitness;
};

/// Settings of a search and its four buttons with progress, rate and ETA. Emits intents; decides nothing. Invalid
/// numbers are refused at their field. While a search is under way the form shows its settings and cannot be edited.
/// GUI thread only.
class SearchPanel : public QWidget {
    Q_OBJECT
  public:
    explicit SearchPanel(QWidget* parent = nullptr);
    ~SearchPanel() override;

    void setDevices(const QStringList& devices);
    void setOptimizers(const QStringList& names);
    /// Lists of objectives to choose from; any other can be typed.
    void setObjectives(const QStringList& lists);
    void setCheck(SearchCheck check);
    /// A number without effect is disabled, with the reason as its tool tip.
    void setUse(SearchUse use);
    void setForm(const SearchForm& form);
    [[nodiscard]] SearchForm form() const;
    [[nodiscard]] TaskFields& task() { return *m_task; }
    /// Why the form's entries are no settings ("12a" as a seed); empty when they are.
    [[nodiscard]] QString problem() const;
    void setState(SearchState state);
    [[nodiscard]] SearchState state() const { return m_state; }
    /// Start stays disabled with the reason as tooltip ("open a model first"); empty: it is possible.
    void setObstacle(const QString& reason);
    void setProgress(const SearchProgress& progress);
    /// An error at the panel, one sentence with its remedy; empty takes it away.
    void setError(const QString& sentence);

  Q_SIGNALS:
    void startRequested(const lpes::widgets::SearchForm& form);
    void pauseRequested();
    void resumeRequested();
    void stopRequested();
    /// The form asks for other items, or for the same ones otherwise.
    void taskChanged();

  protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void fitScroll();

    struct Impl;
    std::unique_ptr<Impl> m;
    TaskFields* m_task = nullptr;
    SearchState m_state = SearchState::Idle;
};

/// "1 h 02 min", "3 min 20 s", "12 s".
[[nodiscard]] QString durationText(double seconds);

}  // namespace lpes::widgets
