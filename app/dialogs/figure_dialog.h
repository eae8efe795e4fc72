#pragma once

#include <QDialog>

#include "app/jobs/figure_job.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace lpes::app {

/// Where and how a figure is written: base name, formats (several in one go), width in millimetres, dots per inch,
/// theme. Emits figureChosen and closes; files that exist are named before they are replaced. GUI thread only.
class FigureDialog : public QDialog {
    Q_OBJECT
  public:
    /// `base`: folder and name without an ending that is proposed.
    FigureDialog(const QString& name, const QString& base, QWidget* parent);
    [[nodiscard]] FigureOptions options() const;

  Q_SIGNALS:
    void figureChosen(const lpes::app::FigureOptions& options);

  private:
    void check();

    QLineEdit* m_base;
    QCheckBox* m_formats[4];
    QComboBox *m_width, *m_theme;
    QSpinBox* m_dpi;
    QLabel* m_problem;
    QPushButton* m_ok;
};

}  // namespace lpes::app
