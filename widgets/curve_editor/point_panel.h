#pragma once

#include <QWidget>

#include "widgets/curve_editor/curve_draft.h"

class QLabel;
class QComboBox;
class QPushButton;

namespace lpes::widgets {

class NumberField;

/// The selected control point and the curve's rules in numbers: layer, relative depth and scale of the point, 1/s and
/// effective context beside it; kind of curve, lowest and highest scale, search grid. Every change is one
/// draftCommitted. A broken rule stands in words below the fields, in red. GUI thread only.
class PointPanel : public QWidget {
    Q_OBJECT
  public:
    explicit PointPanel(QWidget* parent = nullptr);

    void setModel(int numLayers, int trainedContext);
    void setDraft(const CurveDraft& draft);
    void setSelected(int index);  ///< −1: none

  Q_SIGNALS:
    void draftCommitted(const lpes::widgets::CurveDraft& before, const lpes::widgets::CurveDraft& after,
                        const QString& what);
    /// Buttons "previous point" and "next point".
    void pointSelected(int index);
    void addPointRequested();
    void removePointRequested();

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void refresh();
    void showProblem();
    void choose(int index);
    void editPoint(curve::ControlPoint wanted);
    void editRules();
    void editKind();
    void commit(const CurveDraft& after, const QString& what);

    CurveDraft m_draft;
    int m_selected = -1, m_layers = 1, m_trainedContext = 0;
    QString m_notice;  // of the field that was last written in
    QLabel *m_title = nullptr, *m_meaning = nullptr, *m_problem = nullptr;
    NumberField *m_layer = nullptr, *m_depth = nullptr, *m_scale = nullptr;
    NumberField *m_low = nullptr, *m_high = nullptr, *m_grid = nullptr;
    QComboBox* m_kind = nullptr;
    QPushButton *m_previous = nullptr, *m_next = nullptr, *m_add = nullptr, *m_remove = nullptr;
};

}  // namespace lpes::widgets
