#pragma once

#include <QWidget>

#include "core/analysis/plot_data.h"

class QLabel;
class QSortFilterProxyModel;
class QTableView;

namespace lpes::widgets {

class MethodTableModel;

/// The methods of a comparison as a table that can be sorted by every column and copied: the selected cells, or the
/// whole of it with its headings, as tab-separated lines. Without methods a sentence says why. GUI thread only.
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

  private:
    void colourMessage();

    MethodTableModel* m_model;
    QSortFilterProxyModel* m_proxy;
    QTableView* m_table;
    QLabel* m_message;
};

}  // namespace lpes::widgets
