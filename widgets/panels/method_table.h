#pragma once

#include <QWidget>

#include "core/analysis/plot_data.h"

class QLabel;
class QScrollArea;
class QSortFilterProxyModel;
class QTableView;

namespace lpes::widgets {

class MethodTableModel;

/// The methods of a comparison as a table that can be sorted by every column and copied: the selected cells, or the
/// whole of it with its headings, as tab-separated lines. Below, what is said of the selected method in sentences:
/// verdict, position bias, guardrail; above, in red, which profiles were searched on these items. Without methods a
/// sentence says why. GUI thread only.
class MethodTable : public QWidget {
    Q_OBJECT
  public:
    explicit MethodTable(QWidget* parent = nullptr);

    void setMethods(const analysis::MethodsPlot& plot);
    void setEmpty(const QString& why);
    [[nodiscard]] const MethodTableModel& model() const { return *m_model; }
    /// With headings, in the order seen.
    [[nodiscard]] QString asText() const;

  protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void colourMessage();
    void showDetail();
    void showNotHeldOut();
    void fitSentences();

    MethodTableModel* m_model;
    QSortFilterProxyModel* m_proxy;
    QTableView* m_table;
    QLabel *m_message, *m_notHeldOut, *m_detail;
    QScrollArea* m_below;  // of the detail
};

}  // namespace lpes::widgets
