#pragma once

#include <QWidget>
#include <vector>

#include "widgets/panels/search_panel.h"

class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;

namespace lpes::widgets {

/// The fields of a SearchForm, in a column that fits a dock 280 px wide. A text that is no seed or no time is refused
/// at its field: framed, with the reason as its tool tip. GUI thread only.
class SearchFormEdit : public QWidget {
    Q_OBJECT
  public:
    explicit SearchFormEdit(QWidget* parent = nullptr);

    void setDevices(const QStringList& devices);
    void setOptimizers(const QStringList& names);
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

  private:
    void number(const QString& label, int low, int high, int SearchForm::*value, const QString& tip);
    QLineEdit* entry(const QString& label, const QString& name, const QString& tip);
    void checkSeed();
    void checkTime();
    void refuse(QLineEdit* field, const QString& why);

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
    QString m_seedProblem, m_timeProblem;
};

}  // namespace lpes::widgets
