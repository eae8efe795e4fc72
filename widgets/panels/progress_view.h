#pragma once

#include <QWidget>

#include "widgets/panels/search_panel.h"

class QLabel;
class QProgressBar;

namespace lpes::widgets {

/// How a long job stands: its state in words, a bar, rate and time. GUI thread only.
class ProgressView : public QWidget {
    Q_OBJECT
  public:
    /// `what` names the job in accessible names: "search".
    explicit ProgressView(const QString& what, QWidget* parent = nullptr);
    void display(SearchState state, const SearchProgress& progress);

  private:
    QLabel *m_stage, *m_rate;
    QProgressBar* m_bar;
};

/// Parts with a dot between them; in a narrow dock lines break between the parts, not inside them.
[[nodiscard]] QString joinedParts(QStringList parts);

}  // namespace lpes::widgets
