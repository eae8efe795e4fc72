#pragma once

#include <QWidget>
#include <array>
#include <vector>

#include "widgets/panels/search_panel.h"

class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;
class QToolButton;

namespace lpes::widgets {

/// The fields of a SearchForm, in a column that fits a dock 280 px wide. A text that is refused is framed, with the
/// reason as its tool tip. What few searches need is folded away below the rest, unless it is in use. GUI thread only.
class SearchFormEdit : public QWidget {
    Q_OBJECT
  public:
    explicit SearchFormEdit(QWidget* parent = nullptr);

    void setDevices(const QStringList& devices);
    void setOptimizers(const QStringList& names);
    void setObjectives(const QStringList& lists);
    void setCheck(SearchCheck check);
    void setUse(SearchUse use);
    void setForm(const SearchForm& form);
    /// A refused field gives the last value it took.
    [[nodiscard]] SearchForm form() const;
    /// Locked, the values can be read and copied but not changed.
    void setLocked(bool locked);
    [[nodiscard]] TaskFields& task() { return *m_task; }
    /// Why the form cannot be used as it stands ("Correct the seed"); empty when it can.
    [[nodiscard]] QString problem() const;
    /// The same, or what was found out about the data elsewhere.
    [[nodiscard]] QString notice() const;

  Q_SIGNALS:
    void problemChanged();
    /// The user has asked for the folded fields, which are the end of the form.
    void unfolded();

  private:
    void number(const QString& label, int low, int high, int SearchForm::*value, const QString& tip);
    QLineEdit* entry(const QString& label, const QString& name, const QString& tip);
    void addFolded();
    void fold(bool away);
    void checkSeed();
    void checkTime();
    void checkTexts();
    void showUse(const SearchForm& now);
    void refuse(QLineEdit* field, const QString& why);
    [[nodiscard]] std::array<QWidget*, 4> folded() const;  ///< by SearchText

    struct Number {
        QSpinBox* box;
        int SearchForm::*value;
    };
    SearchForm m_form;  // what the two free texts last stood for, and what no field shows
    QFormLayout* m_layout;
    TaskFields* m_task;
    QComboBox* m_device;
    QComboBox* m_optimizer;
    std::vector<Number> m_numbers;
    QLineEdit *m_host, *m_seed, *m_time;
    QToolButton* m_more = nullptr;  ///< checked: unfolded
    QLineEdit *m_guardrailLimit = nullptr, *m_racing = nullptr, *m_target = nullptr;
    QComboBox* m_objectives = nullptr;
    SearchCheck m_check;
    SearchUse m_use;
    bool m_filling = false;
    QString m_seedProblem, m_timeProblem;
    std::array<QString, 4> m_textProblems;  ///< by SearchText
};

}  // namespace lpes::widgets
