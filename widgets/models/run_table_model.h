#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace lpes::widgets {

/// A run of the data base as the list shows it. A value.
struct RunLine {
    std::int64_t id = 0;
    QString kind;   ///< "search", "eval", …
    QString state;  ///< "running", "paused", "stopped", "interrupted", "failed", "finished"
    QString label, model, device;
    std::int64_t createdMs = 0;  ///< UTC
    double elapsedSeconds = 0.0;
    QString outcome;  ///< short: "best −1.656", the error of a failed run
    QString details;  ///< tooltip: settings, seed, versions
    bool resumable = false, hasProfile = false;
    friend bool operator==(const RunLine&, const RunLine&) = default;
};

/// Runs, newest first. setRuns changes rows in place (no reset), so that selection and scrolling stay. GUI thread only.
class RunTableModel : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { Id, Kind, State, Label, Started, Elapsed, Outcome, kColumns };
    static constexpr int kIdRole = Qt::UserRole + 1;
    static constexpr int kSortRole = Qt::UserRole + 2;

    using QAbstractTableModel::QAbstractTableModel;
    void setRuns(const std::vector<RunLine>& runs);
    [[nodiscard]] const std::vector<RunLine>& runs() const { return m_runs; }
    [[nodiscard]] const RunLine* find(std::int64_t id) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    std::vector<RunLine> m_runs;
};

}  // namespace lpes::widgets
