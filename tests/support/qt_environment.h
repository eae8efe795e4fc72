#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <functional>

/// One QApplication (offscreen) for all tests of a program, in which a warning of Qt's is a failure of the test that
/// caused it; link lpes_test_support_qt, which registers it.
namespace lpes::test {

/// Runs the event loop until the predicate holds or the time is over; answers whether it holds.
[[nodiscard]] bool waitFor(const std::function<bool()>& predicate, int timeoutMs = 60000);

/// Delivers what is queued now, deferred deletions included.
void settle();

}  // namespace lpes::test
