#include "tests/support/qt_environment.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QTimer>

namespace lpes::test {

namespace {

class QtEnvironment : public testing::Environment {
  public:
    void SetUp() override {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& message) {
            if (type == QtDebugMsg || type == QtInfoMsg) return;
            if (message.contains(QStringLiteral("XDG_RUNTIME_DIR"))) return;
            // The offscreen platform cannot raise windows.
            if (message.contains(QStringLiteral("This plugin does not support"))) return;
            ADD_FAILURE() << "Qt says: " << message.toStdString();
        });
        m_application = new QApplication(m_argc, m_argv);
    }
    void TearDown() override {
        delete m_application;
        qInstallMessageHandler(nullptr);
    }

  private:
    int m_argc = 1;
    char m_name[5] = "test";
    char* m_argv[2] = {m_name, nullptr};
    QApplication* m_application = nullptr;
};
[[maybe_unused]] const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new QtEnvironment);

}  // namespace

bool waitFor(const std::function<bool()>& predicate, int timeoutMs) {
    if (predicate()) return true;
    QElapsedTimer clock;
    clock.start();
    QEventLoop loop;
    QTimer look;
    look.setInterval(2);
    QObject::connect(&look, &QTimer::timeout, &loop, [&] {
        if (predicate() || clock.hasExpired(timeoutMs)) loop.quit();
    });
    look.start();
    loop.exec();
    return predicate();
}

void settle() {
    QCoreApplication::sendPostedEvents();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

}  // namespace lpes::test
