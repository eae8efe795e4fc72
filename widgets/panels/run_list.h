#pragma once

#include <QWidget>
#include <cstdint>
#include <vector>

#include "widgets/models/run_table_model.h"

class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTableView;

namespace lpes::widgets {

/// The runs of the open data base with a filter field; select one to see it, context menu and buttons to resume it or
/// to export its profile. The selection survives updates. GUI thread only.
class RunList : public QWidget {
    Q_OBJECT
  public:
    explicit RunList(QWidget* parent = nullptr);

    /// `why` is shown in words while there is no run.
    void setRuns(const std::vector<RunLine>& runs, const QString& why = {});
    void setError(const QString& sentence);
    [[nodiscard]] std::int64_t selectedRun() const;  ///< 0: none
    void selectRun(std::int64_t id);                 ///< emits runSelected when it changes
    [[nodiscard]] const RunTableModel& model() const { return *m_model; }

  Q_SIGNALS:
    void runSelected(qint64 id);
    void resumeRequested(qint64 id);
    void exportProfileRequested(qint64 id);
    void showProfileRequested(qint64 id);  ///< take the run's profile into the editor

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void setUpTable();
    void noteSelection();
    void keepSelection();
    void showSelected(std::int64_t id);
    void updateButtons();

    RunTableModel* m_model;
    QSortFilterProxyModel* m_proxy;
    QTableView* m_table;
    QLineEdit* m_filter;
    QLabel* m_message;
    QAction *m_resume, *m_export, *m_show;
    std::int64_t m_told = 0;  // what runSelected said last
    bool m_updating = false;
    QString m_why, m_error;
};

}  // namespace lpes::widgets
