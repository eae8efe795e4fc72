#pragma once

#include <QStringList>
#include <QWidget>
#include <cstdint>

#include "widgets/panels/search_panel.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QSpinBox;

namespace lpes::widgets {

class MethodListEdit;
class ProgressView;

/// The settings of a comparison that the form offers; everything else keeps the study's value. A value.
struct CompareForm {
    QStringList methods;  ///< spellings; the first is what the others are compared with
    QString device = QStringLiteral("cpu");
    TaskForm task;
    int items = 40;
    std::uint64_t itemSeed = 2;
    friend bool operator==(const CompareForm&, const CompareForm&) = default;
};

/// Settings of a comparison, its buttons, and how it stands. Emits intents; decides nothing. What is no setting is
/// refused at its field. While a comparison is under way its settings can be read but not edited. GUI thread only.
class ComparePanel : public QWidget {
    Q_OBJECT
  public:
    explicit ComparePanel(QWidget* parent = nullptr);

    void setDevices(const QStringList& devices);
    void setForm(const CompareForm& form);
    /// A refused field gives the last value it took.
    [[nodiscard]] CompareForm form() const;
    /// Why the form cannot be used as it stands; empty when it can.
    [[nodiscard]] QString problem() const;
    [[nodiscard]] TaskFields& task() { return *m_task; }
    [[nodiscard]] MethodListEdit& methods() { return *m_methods; }
    void setState(SearchState state);  ///< Idle, Starting, Running, Stopping
    [[nodiscard]] SearchState state() const { return m_state; }
    /// Start and Resume stay disabled with the reason as tool tip; empty: they are possible.
    void setObstacle(const QString& reason);
    /// A stopped comparison that Resume goes on with; 0: there is none.
    void setResumable(std::int64_t run);
    void setProgress(const SearchProgress& progress);
    /// An error at the panel, one sentence with its remedy; empty takes it away.
    void setError(const QString& sentence);

  Q_SIGNALS:
    void startRequested(const lpes::widgets::CompareForm& form);
    void resumeRequested(qint64 run);
    void stopRequested();
    /// The form asks for other items, or for the same ones otherwise.
    void taskChanged();

  protected:
    void changeEvent(QEvent* event) override;

  private:
    QWidget* makeForm();
    void checkSeed();
    void refresh();
    void paintSigns();

    MethodListEdit* m_methods;
    TaskFields* m_task = nullptr;
    QComboBox* m_device;
    QSpinBox* m_items;
    QLineEdit* m_itemSeed;
    QPushButton *m_start, *m_resume, *m_stop;
    ProgressView* m_view;
    QLabel *m_why, *m_error;
    SearchState m_state = SearchState::Idle;
    SearchProgress m_progress;
    QString m_obstacle, m_seedProblem;
    std::uint64_t m_seed = 2;
    std::int64_t m_resumable = 0;
};

}  // namespace lpes::widgets
