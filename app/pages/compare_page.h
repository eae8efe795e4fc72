#pragma once

#include <QWidget>
#include <cstdint>
#include <memory>

#include "app/jobs/store_snapshot.h"
#include "widgets/plots/theme.h"

class QLabel;

namespace lpes::widgets {
class ComparePanel;
class MethodTable;
class PlotPane;
}  // namespace lpes::widgets

namespace lpes::app {

/// Methods side by side: what to compare at the left; at the right the comparison that is selected, as the data base
/// has it, in a table and two pictures. Replots only what changed. GUI thread only.
class ComparePage : public QWidget {
    Q_OBJECT
  public:
    explicit ComparePage(const widgets::Theme& theme, QWidget* parent = nullptr);

    /// Null, or a run of another kind: says what to do.
    void showRun(const std::shared_ptr<const RunDetail>& detail);
    void setTheme(const widgets::Theme& theme);
    [[nodiscard]] widgets::ComparePanel& panel() { return *m_panel; }
    [[nodiscard]] widgets::MethodTable& table() { return *m_table; }
    [[nodiscard]] widgets::PlotPane& methods() { return *m_methods.pane; }
    [[nodiscard]] widgets::PlotPane& accuracy() { return *m_accuracy.pane; }

  private:
    struct Shown {
        widgets::PlotPane* pane = nullptr;
        std::int64_t run = 0;
        std::uint64_t version = 0;  ///< of what it shows; 0: nothing
    };
    void showPlot(Shown& shown, PlotKind kind, const RunDetail& detail);

    widgets::ComparePanel* m_panel;
    widgets::MethodTable* m_table;
    QLabel* m_headline;
    Shown m_methods, m_accuracy;
};

}  // namespace lpes::app
