#include "app/document.h"

#include <QUndoCommand>

#include "core/base/version.h"

namespace lpes::app {

using widgets::CurveDraft;

/// From one state of the document to another and back.
class DraftCommand : public QUndoCommand {
  public:
    DraftCommand(Document& document, Document::State before, Document::State after, const QString& what)
        : QUndoCommand(what), m_document(document), m_before(std::move(before)), m_after(std::move(after)) {}
    void undo() override { m_document.apply(m_before); }
    void redo() override { m_document.apply(m_after); }

  private:
    Document& m_document;
    const Document::State m_before, m_after;
};

namespace {

QString handDrawn() {
    return QStringLiteral("hand-drawn curve");
}

CurveDraft freeDraft(const std::vector<double>& scales, const curve::Constraints& wanted) {
    CurveDraft draft;
    draft.kind = curve::CurveKind::Free;
    draft.constraints = wanted;
    draft.constraints.gridStep.reset();  // the profile's very scales, not rounded ones
    const double last = scales.size() > 1 ? static_cast<double>(scales.size() - 1) : 1.0;
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        draft.points.push_back({static_cast<double>(layer) / last, scales[layer]});
        draft.constraints.scaleMin = std::min(draft.constraints.scaleMin, scales[layer]);
        draft.constraints.scaleMax = std::max(draft.constraints.scaleMax, scales[layer]);
    }
    return draft;
}

}  // namespace

Document::Document(QObject* parent) : QObject(parent), m_draft(freshDraft()), m_origin(handDrawn()) {}

CurveDraft Document::freshDraft() {
    constexpr int kPoints = 4;
    CurveDraft draft;
    for (int i = 0; i < kPoints; ++i) draft.points.push_back({i / (kPoints - 1.0), 1.0});
    return draft;
}

void Document::setModel(const exporters::ProfileModel& model, int trainedContext) {
    const bool otherShape = model.layers != m_model.layers, same = model.fingerprint == m_model.fingerprint;
    m_model = model;
    m_trainedContext = trainedContext;
    m_undo.clear();
    // Where the curve came from is true for the model that it came from.
    State state{m_draft, same ? m_origin : handDrawn(), same ? m_source : std::nullopt};
    if (otherShape && m_draft.kind == curve::CurveKind::Free) state = {freshDraft(), handDrawn(), std::nullopt};
    apply(state);
}

std::vector<double> Document::scales() const {
    return m_model.layers > 0 ? widgets::decodedScales(m_draft, m_model.layers) : std::vector<double>();
}

void Document::apply(const State& state) {
    m_draft = state.draft;
    m_source = state.source;
    if (m_origin != state.origin) {
        m_origin = state.origin;
        Q_EMIT originChanged();
    }
    Q_EMIT draftChanged(m_draft);
}

void Document::push(State after, const QString& what) {
    m_undo.push(new DraftCommand(*this, {m_draft, m_origin, m_source}, std::move(after), what));
}

void Document::commit(const CurveDraft& after, const QString& what) {
    if (after == m_draft) return;
    push({after, handDrawn(), std::nullopt}, what);
}

Result<std::vector<std::string>> Document::takeProfile(const exporters::Profile& profile, const QString& origin) {
    if (!profile.groups.perLayer()) {
        const bool heads = profile.groups.kind == curve::ScaleGroups::Kind::KvHead;
        return fail(ErrorCode::Unsupported,
                    std::string("the profile has scales by ") + (heads ? "key/value head" : "band of frequencies") +
                        ", and the editor draws one curve over layers; use 'lpes eval --profile' for it, or open a "
                        "profile by layer");
    }
    auto warnings = exporters::checkFits(profile, m_model);
    if (!warnings) return fail(warnings.error());
    const curve::Constraints bounds = profile.constraints.value_or(curve::Constraints{});
    CurveDraft draft;
    if (profile.curve) draft = {profile.curve->kind, profile.curve->points, bounds};
    if (!profile.curve || widgets::decodedScales(draft, m_model.layers) != profile.scales) {
        draft = freeDraft(profile.scales, bounds);
    }
    push({draft, origin, profile}, QStringLiteral("open ") + origin);
    return *warnings;
}

Result<exporters::Profile> Document::profile() const {
    if (m_source) {
        exporters::Profile profile = *m_source;
        if (profile.model.fingerprint != m_model.fingerprint) {
            profile.provenance["made_for_fingerprint"] = profile.model.fingerprint;
            profile.model = m_model;
        }
        return profile;
    }
    if (!hasModel()) return fail(ErrorCode::Usage, "there is no model yet; open one, so that the profile can name it");
    if (const auto broken = curve::violation(m_draft.kind, m_draft.points, m_draft.constraints)) {
        return fail(ErrorCode::Usage, "the curve breaks a rule: " + *broken);
    }
    exporters::Profile profile;
    profile.model = m_model;
    profile.scales = scales();
    profile.curve = exporters::Profile::Curve{m_draft.kind, m_draft.points};
    profile.constraints = m_draft.constraints;
    profile.provenance = {{"origin", "drawn by hand"}};
    profile.toolVersion = kVersion;
    return profile;
}

void Document::markSaved(const QString& file) {
    m_undo.setClean();
    if (m_origin == file) return;
    m_origin = file;
    Q_EMIT originChanged();
}

}  // namespace lpes::app
