#pragma once

#include <QObject>
#include <filesystem>

#include "app/jobs/store_follower.h"

namespace lpes::widgets {
class RunList;
}  // namespace lpes::widgets

namespace lpes::app {

class SearchPage;

/// Shows what the data base holds: the list of runs and the selected run's pictures, live while anybody writes them.
/// GUI thread only.
class StoreController : public QObject {
    Q_OBJECT
  public:
    StoreController(widgets::RunList& list, SearchPage& page, QObject* parent);

    void open(const std::filesystem::path& path);
    [[nodiscard]] const std::filesystem::path& database() const { return m_follower.database(); }
    /// The next run that this process begins is selected when it appears.
    void expectOwnRun();
    void select(std::int64_t run);
    void nudge() { m_follower.nudge(); }
    /// Of the open model: what the curves' axes show while no run is selected.
    void setModelShape(int numLayers, int trainedContext);
    /// The newest that was read; null before the first look.
    [[nodiscard]] const SnapshotPtr& snapshot() const { return m_snapshot; }
    /// The selected run; null: none, or it is not read yet.
    [[nodiscard]] std::shared_ptr<const RunDetail> detail() const;

  Q_SIGNALS:
    void snapshotShown();
    void runShown(const std::shared_ptr<const lpes::app::RunDetail>& detail);
    /// Once per error, not at every look.
    void failed(const lpes::Error& error);

  private:
    void show(const SnapshotPtr& snapshot);
    void showDetail();

    widgets::RunList& m_list;
    SearchPage& m_page;
    SnapshotPtr m_snapshot;
    int m_layers = 1, m_context = 0;
    std::int64_t m_selected = 0;
    bool m_expectOwn = false, m_first = true;
    std::string m_lastError;
    StoreFollower m_follower;
};

}  // namespace lpes::app
