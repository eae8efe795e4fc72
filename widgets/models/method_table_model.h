#pragma once

#include <QAbstractTableModel>
#include <array>
#include <vector>

#include "core/analysis/plot_data.h"

namespace lpes::widgets {

/// The methods of a comparison with everything that was measured, in the order in which they were given: the first is
/// what the others are compared with. The best value of a column is bold, with a mark and a word in its tool tip. What
/// was not measured is a dash, and sorts last. GUI thread only.
class MethodTableModel : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column {
        Name,
        Accuracy,
        Gap,
        AnswerNll,
        NllDifference,
        PValue,
        ScoreDifference,
        Guardrail,
        TimeRatio,
        TokensPerSecond,
        PeakMemory,
        Passes,
        Attentions,
        Verdict,
        kColumns
    };
    static constexpr int kSortRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    /// The same methods in the same order change in place, so that selection and scrolling stay.
    void setMethods(const analysis::MethodsPlot& plot);
    [[nodiscard]] const std::vector<analysis::MethodsPlot::Method>& methods() const { return m_methods; }
    /// Is this the best value of its column? Never where all are the same or only one is known.
    [[nodiscard]] bool isBest(int row, int column) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    std::vector<analysis::MethodsPlot::Method> m_methods;
};

}  // namespace lpes::widgets
