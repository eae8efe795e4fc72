#pragma once

#include <QApplication>
#include <QTest>
#include <QWidget>

#include "widgets/models/run_table_model.h"

namespace lpes::test {

/// The child with this accessible name; fails the test when there is none.
template <class Widget>
Widget* named(QWidget& parent, const QString& name) {
    const auto children = parent.findChildren<Widget*>();
    for (Widget* child : children) {
        if (child->accessibleName() == name) return child;
    }
    ADD_FAILURE() << "no child is called " << name.toStdString();
    return nullptr;
}

/// A search in the list of runs.
inline widgets::RunLine runLine(std::int64_t id, const char* state) {
    widgets::RunLine run;
    run.id = id;
    run.kind = QStringLiteral("search");
    run.state = QString::fromLatin1(state);
    run.createdMs = 1'000'000 * id;
    run.outcome = QStringLiteral("best −1.656");
    return run;
}

/// Shown, laid out and active, so that keys and shortcuts arrive.
inline void showActive(QWidget& widget, const QSize& size) {
    widget.resize(size);
    widget.show();
    widget.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&widget));
}

/// Every widget that takes the focus by Tab says what it is.
inline void expectNames(QWidget& widget) {
    const auto children = widget.findChildren<QWidget*>();
    for (QWidget* child : children) {
        // Parts of compound widgets ("qt_spinbox_lineedit") are named through their owner.
        if (!(child->focusPolicy() & Qt::TabFocus) || child->objectName().startsWith(QStringLiteral("qt_"))) continue;
        if (child->focusProxy()) continue;
        EXPECT_FALSE(child->accessibleName().isEmpty()) << child->metaObject()->className();
    }
}

}  // namespace lpes::test
