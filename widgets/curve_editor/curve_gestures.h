#pragma once

#include <QMouseEvent>
#include <QTimer>
#include <vector>

#include "widgets/curve_editor/curve_editor.h"
#include "widgets/curve_editor/curve_scene.h"

namespace lpes::widgets {

/// The editor's state and what its gestures do to it: the events in curve_editor.cpp are translated into these calls.
struct CurveEditor::Impl {
    // Pressed: on a point, not moved beyond the threshold yet.
    enum class Gesture { None, Pressed, Dragging, Keys };

    Impl(CurveEditor& owner, const Theme& theme) : q(owner), scene(owner, theme) {}

    [[nodiscard]] CurvePicture& picture() { return scene.picture; }
    [[nodiscard]] bool active() const { return gesture == Gesture::Dragging || gesture == Gesture::Keys; }
    [[nodiscard]] bool mouseDown() const { return gesture == Gesture::Pressed || gesture == Gesture::Dragging; }
    [[nodiscard]] int count() const { return static_cast<int>(scene.picture.draft.points.size()); }

    /// Lays everything out for the widget's size.
    void arrange();
    void rebuild();
    /// Legend, range and everything static. Not during a gesture: the point would slide away from the pointer.
    void refresh();
    /// Ghosts and candidates that suit the model.
    void takeDrawable();
    void show(const CurveDraft& draft);
    /// The selected point in words, for assistive technology.
    void describe();

    void press(int index, const QPointF& pixel);
    void drag(const QMouseEvent& event);
    void nudge(int key, bool coarse);
    /// A step of the gesture in progress.
    void preview(const CurveDraft& draft);
    /// Ends what is in progress; commits when it changed something.
    void commit();
    /// Ends what is in progress and puts the draft back.
    void abandon();
    void stop();
    /// A change that is a gesture of its own.
    void replace(const CurveDraft& after, const QString& what);
    void label(int index);
    void select(int index);

    void hover(const QPointF& pixel);
    void unhover();
    void setReadout(const QString& words);

    CurveEditor& q;
    CurveScene scene;
    std::vector<GhostCurve> ghosts;           // as given: which can be drawn depends on the number of layers
    std::vector<PopulationCurve> population;  // likewise
    QTimer keyRest;
    bool readOnly = false;
    Gesture gesture = Gesture::None;
    CurveDraft before;
    int point = -1;
    QPointF pressedAt;
    bool refreshPending = false;
    QString readout;
};

}  // namespace lpes::widgets
