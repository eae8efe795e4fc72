#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <filesystem>
#include <optional>

#include "core/exporters/profile.h"
#include "core/model/model_config.h"
#include "widgets/curve_editor/curve_draft.h"

namespace lpes::app {

/// What the user edits: one curve for the open model, with its undo steps and the profile file that it came from or was
/// saved to. GUI thread only.
class Document : public QObject {
    Q_OBJECT
  public:
    explicit Document(QObject* parent = nullptr);

    /// The curve that a fresh document starts from: four control points at s = 1, which changes nothing yet.
    [[nodiscard]] static widgets::CurveDraft freshDraft();

    /// Another model: the curve stays where it decodes for that many layers (it is defined over depth), else a fresh
    /// one begins; undo steps are dropped, because they belong to the model before.
    void setModel(const exporters::ProfileModel& model, int trainedContext);
    [[nodiscard]] bool hasModel() const { return m_model.layers > 0; }
    [[nodiscard]] const exporters::ProfileModel& model() const { return m_model; }
    [[nodiscard]] int trainedContext() const { return m_trainedContext; }

    [[nodiscard]] const widgets::CurveDraft& draft() const { return m_draft; }
    [[nodiscard]] std::vector<double> scales() const;
    /// One undo step; nothing when the two are equal.
    void commit(const widgets::CurveDraft& after, const QString& what);
    [[nodiscard]] QUndoStack& undoStack() { return m_undo; }

    /// Takes a profile's curve, as one undo step. BadInput when it is for another model (exporters::checkFits),
    /// Unsupported for scales by head or by band, which are more than one curve; a profile without a curve, or whose
    /// scales are not those of its curve, becomes a free curve with its very scales. Returns what the user should know.
    [[nodiscard]] Result<std::vector<std::string>> takeProfile(const exporters::Profile& profile,
                                                               const QString& origin);
    /// The profile as it stands, with provenance kept where it still describes these scales.
    [[nodiscard]] Result<exporters::Profile> profile() const;
    /// The draft is a profile that was opened, unchanged.
    [[nodiscard]] bool isOpenedProfile() const { return m_source.has_value(); }
    void markSaved(const QString& file);
    [[nodiscard]] bool isModified() const { return !m_undo.isClean(); }
    /// "hand-drawn curve", "profile.json", "best of run 7".
    [[nodiscard]] const QString& origin() const { return m_origin; }

  Q_SIGNALS:
    void draftChanged(const lpes::widgets::CurveDraft& draft);
    void originChanged();

  private:
    friend class DraftCommand;
    struct State {
        widgets::CurveDraft draft;
        QString origin;
        std::optional<exporters::Profile> source;  ///< profile that the draft is, unchanged
    };
    void apply(const State& state);
    void push(State after, const QString& what);

    exporters::ProfileModel m_model;
    int m_trainedContext = 0;
    widgets::CurveDraft m_draft;
    QString m_origin;
    std::optional<exporters::Profile> m_source;
    QUndoStack m_undo;
};

}  // namespace lpes::app
