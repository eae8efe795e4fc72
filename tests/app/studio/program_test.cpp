// The program lpes-studio as a process: T31 for the window, and --smoke.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QProcess>
#include <QProcessEnvironment>

#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

struct Ended {
    int code = -1;
    std::string out, err;
};

Ended run(const QStringList& arguments, const StudyFolder& folder, const QString& platform = {}) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
        environment.remove(QLatin1String(name));
    }
    if (!platform.isEmpty()) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), platform);
    for (const char* name : {"XDG_DATA_HOME", "XDG_CONFIG_HOME"}) {
        environment.insert(QLatin1String(name), QString::fromStdString((folder / "home").string()));
    }
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(LPES_STUDIO_PROGRAM), arguments);
    EXPECT_TRUE(waitFor([&] { return process.state() == QProcess::NotRunning; }, 120000));
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardOutput().toStdString(), process.readAllStandardError().toStdString()};
}

TEST(FieldReports, T31_TheWindowsProgramNeedsNoDisplayToSayWhatItIs) {
    const StudyFolder folder;
    EXPECT_EQ(run({QStringLiteral("--version")}, folder).code, 0);
    const Ended help = run({QStringLiteral("--help")}, folder);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, testing::HasSubstr("--smoke"));
    EXPECT_EQ(run({QStringLiteral("--nonsense")}, folder).code, 2);
    const Ended none = run({}, folder);
    EXPECT_EQ(none.code, 4);
    EXPECT_THAT(none.err, testing::HasSubstr("--headless"));
}

TEST(Smoke, DrawsEveryViewAndEndsByItself) {
    const StudyFolder folder(studioModel());
    const QString out = QString::fromStdString((folder / "pictures").string());
    // Without a model: the demo study's prompts do not fit a tiny model's context.
    const Ended ended =
        run({QStringLiteral("--smoke"), QStringLiteral("--model"), QStringLiteral("none"), QStringLiteral("--db"),
             QString::fromStdString((folder / "lpes.db").string()), QStringLiteral("--out"), out},
            folder);
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (const char* view : {"edit", "search", "inspect", "compare"}) {
        const QImage picture(out + QLatin1Char('/') + QLatin1String(view) + QStringLiteral(".png"));
        EXPECT_GT(picture.width(), 500) << view;
    }
    const Ended missing = run({QStringLiteral("--smoke"), QStringLiteral("--model"), QStringLiteral("/no/such/model"),
                               QStringLiteral("--db"), QString::fromStdString((folder / "lpes.db").string())},
                              folder);
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.err, testing::HasSubstr("/no/such/model"));
}

}  // namespace
}  // namespace lpes::test
