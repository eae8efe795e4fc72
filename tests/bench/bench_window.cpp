// How the window feels, in numbers: time to the first paint, replot while dragging, how far the pictures are behind the
// mouse, and how long the GUI thread stalls while a search runs and rows arrive.
//   bench_window [--model demo] [--seconds N]
// What it should keep: first paint below 1 s, replot below 8 ms, pictures within 250 ms, stalls p99 below 16 ms. Prints
// figures, asserts nothing.
#include <CLI/CLI.hpp>
#include <QApplication>
#include <QMouseEvent>
#include <QSettings>
#include <QTimer>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "app/controllers/live_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/main_window.h"
#include "app/pages/edit_page.h"
#include "core/base/clock.h"
#include "core/store/store.h"
#include "widgets/curve_editor/curve_editor.h"

namespace {

using namespace lpes;

/// Runs the event loop until the predicate holds; false after the time.
bool runUntil(const std::function<bool()>& predicate, double seconds) {
    const double end = steadySeconds() + seconds;
    QEventLoop loop;
    QTimer look;
    QObject::connect(&look, &QTimer::timeout, &loop, [&] {
        if (predicate() || steadySeconds() > end) loop.quit();
    });
    look.start(1);
    loop.exec();
    return predicate();
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0.0;
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Gaps between turns of the GUI thread's event loop, in milliseconds, beyond the timer's own 2 ms.
class StallMeter : public QObject {
  public:
    StallMeter() {
        m_timer.setTimerType(Qt::PreciseTimer);
        m_timer.setInterval(2);
        connect(&m_timer, &QTimer::timeout, this, [this] {
            const double now = steadySeconds();
            if (m_last > 0.0) m_gaps.push_back(std::max(0.0, (now - m_last) * 1000.0 - 2.0));
            m_last = now;
        });
        m_timer.start();
    }
    void report(const char* what) {
        std::printf("%-46s p50 %5.1f  p99 %5.1f  max %6.1f ms (%zu turns)\n", what, percentile(m_gaps, 0.5),
                    percentile(m_gaps, 0.99), percentile(m_gaps, 1.0), m_gaps.size());
        std::fflush(stdout);
    }

  private:
    QTimer m_timer;
    double m_last = 0.0;
    std::vector<double> m_gaps;
};

/// Seconds since this process was started, by the kernel's books (10 ms steps).
double secondsSinceProcessStart() {
    std::ifstream stat("/proc/self/stat");
    std::string word;
    for (int i = 0; i < 22; ++i) stat >> word;
    std::ifstream uptime("/proc/uptime");
    double up = 0.0;
    uptime >> up;
    return up - std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void move(widgets::CurveEditor& editor, QEvent::Type type, const QPointF& at) {
    const bool held = type != QEvent::MouseButtonRelease;
    QMouseEvent event(type, at, editor.mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                      held ? Qt::LeftButton : Qt::NoButton, {});
    QApplication::sendEvent(&editor, &event);
}

void measureDrag(app::MainWindow& window) {
    widgets::CurveEditor& editor = window.editPage().editor();
    const QPointF from = editor.pixelOfPoint(0);
    std::vector<double> replots, firsts, completes;
    double asked = 0.0;
    QObject guard;
    StallMeter stalls;
    int pictures = 0;
    QObject::connect(&window.live(), &app::LiveController::picturesShown, &guard, [&] { ++pictures; });
    move(editor, QEvent::MouseButtonPress, from);
    const double start = steadySeconds();
    for (int i = 1; i <= 240; ++i) {
        move(editor, QEvent::MouseMove, from + QPointF(0, -0.4 * (i % 120)));
        replots.push_back(editor.lastReplotMs());
        const double next = start + i / 60.0;
        runUntil([&] { return steadySeconds() >= next; }, 1.0);
    }
    const double dragged = steadySeconds() - start;
    std::printf("%-46s median %4.2f  p99 %5.2f ms (limit 8)\n", "replot of the curve while dragging",
                percentile(replots, 0.5), percentile(replots, 0.99));
    std::printf("%-46s %4.1f per second while dragging at 60 moves/s\n", "pictures", pictures / dragged);
    stalls.report("stall while dragging");
    move(editor, QEvent::MouseButtonRelease, from + QPointF(0, -0.4 * 119));
    runUntil([&] { return window.live().isUpToDate(); }, 20.0);
    // A step of the mouse, then rest: what the pictures lag behind.
    for (int i = 0; i < 20; ++i) {
        pictures = 0;
        move(editor, QEvent::MouseButtonPress, editor.pixelOfPoint(0));
        const QPointF at = editor.pixelOfPoint(0) + QPointF(0, i % 2 == 0 ? 20 : -20);
        asked = steadySeconds();
        move(editor, QEvent::MouseMove, at);
        runUntil([&] { return pictures > 0; }, 20.0);
        firsts.push_back((steadySeconds() - asked) * 1000.0);
        runUntil([&] { return window.live().isUpToDate(); }, 20.0);
        completes.push_back((steadySeconds() - asked) * 1000.0);
        move(editor, QEvent::MouseButtonRelease, at);
    }
    std::printf("%-46s median %4.0f  p99 %4.0f ms (limit 250)\n", "mouse → first pictures on the screen",
                percentile(firsts, 0.5), percentile(firsts, 0.99));
    std::printf("%-46s median %4.0f  p99 %4.0f ms\n", "mouse → pictures from every prompt", percentile(completes, 0.5),
                percentile(completes, 0.99));
    completes.clear();
    for (int i = 0; i < 20; ++i) {
        widgets::CurveDraft draft = window.document().draft();
        draft.points[1].y = 1.0 + 0.02 * (i + 1);
        asked = steadySeconds();
        window.document().commit(draft, QStringLiteral("bench"));
        runUntil([&] { return window.live().isUpToDate(); }, 20.0);
        completes.push_back((steadySeconds() - asked) * 1000.0);
    }
    std::printf("%-46s median %4.0f  p99 %4.0f ms\n", "number, key, undo → pictures from every prompt",
                percentile(completes, 0.5), percentile(completes, 0.99));
}

void measureSearch(app::MainWindow& window, double seconds) {
    window.search().startAction()->trigger();
    if (!runUntil([&] { return window.search().state() == widgets::SearchState::Running; }, 60.0)) {
        std::printf("the search did not begin\n");
        return;
    }
    for (const auto& [workspace, name] :
         {std::pair{app::MainWindow::Search, "stall while a search runs, its page shown"},
          std::pair{app::MainWindow::Edit, "stall while a search runs, editor shown"}}) {
        window.setWorkspace(workspace);
        runUntil([] { return false; }, 1.0);
        StallMeter stalls;
        runUntil([] { return false; }, seconds);
        stalls.report(name);
    }
    window.search().stop();
    runUntil([&] { return !window.search().isBusy(); }, 10.0);
}

/// 1,000 rows a second: outcomes, candidates and generations of a run that the window shows.
void measureRows(app::MainWindow& window, const std::filesystem::path& database, double seconds) {
    std::atomic<bool> done = false;
    std::atomic<std::int64_t> rows = 0;
    std::atomic<std::int64_t> runId = 0;
    std::jthread writer([&] {
        auto store = store::StoreWriter::open(database, {"bench_window"});
        if (!store) return;
        store::ModelRow model;
        model.fingerprint = "bench";
        model.name = "bench";
        model.contextLength = 8192;
        store::DatasetRow dataset;
        dataset.hash = "bench";
        store::RunRow run;
        run.kind = "search";
        run.label = "1,000 rows a second";
        run.modelId = (*store)->ensureModel(model).value_or(0);
        run.datasetId = (*store)->ensureDataset(dataset).value_or(0);
        run.settingsJson = R"({"score":{"value":"nll"}})";
        const std::int64_t id = (*store)->addRun(run).value_or(0);
        runId = id;
        const double start = steadySeconds();
        for (int candidate = 0; !done; ++candidate) {
            std::vector<double> scales(30, 1.0 + 0.0001 * candidate);
            const std::int64_t variant = (*store)->ensureVariant(id, "candidate", scales).value_or(0);
            for (int item = 0; item < 16; ++item) {
                std::vector<store::OutcomeRow> outcomes(3);
                for (int position = 0; position < 3; ++position) {
                    outcomes[static_cast<std::size_t>(position)].itemId = std::to_string(item);
                    outcomes[static_cast<std::size_t>(position)].position = position;
                }
                (void)(*store)->recordOutcomes(variant, "search", outcomes);
                rows += 3;
            }
            store::CandidateRow row;
            row.generation = candidate / 12;
            row.index = candidate % 12;
            row.variantId = variant;
            row.fitness = -2.0 + 0.001 * candidate;
            row.byPosition = {-1.0, -2.0, -3.0};
            (void)(*store)->recordCandidate(id, row);
            ++rows;
            if (candidate % 12 == 11) {
                store::GenerationRow generation;
                generation.generation = candidate / 12;
                generation.best = row.fitness;
                generation.mean = row.fitness - 0.1;
                generation.worst = row.fitness - 0.3;
                generation.populationJson = "[]";
                (void)(*store)->recordGeneration(id, generation);
                ++rows;
            }
            const double due = start + static_cast<double>(rows) / 1000.0;
            while (!done && steadySeconds() < due) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    runUntil([&] { return runId != 0; }, 10.0);
    window.setWorkspace(app::MainWindow::Search);
    runUntil(
        [&] {
            return !window.stores().snapshot()->runs.empty() && window.stores().snapshot()->runs.front().id == runId;
        },
        10.0);
    window.stores().select(runId);
    runUntil([] { return false; }, 1.0);
    const std::int64_t before = rows;
    const double start = steadySeconds();
    StallMeter stalls;
    runUntil([] { return false; }, seconds);
    std::printf("%-46s %.0f rows/s\n", "rows arriving", static_cast<double>(rows - before) / (steadySeconds() - start));
    stalls.report("stall while rows arrive");
    done = true;
}

}  // namespace

int main(int argc, char** argv) {
    std::string model = "demo";
    double seconds = 10.0;
    CLI::App parser("Measures the window; see the head of this file");
    parser.add_option("--model", model)->capture_default_str();
    parser.add_option("--seconds", seconds, "Of each stall measurement")->capture_default_str();
    CLI11_PARSE(parser, argc, argv);
    std::string folder = (std::filesystem::temp_directory_path() / "lpes-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return std::fprintf(stderr, "cannot make a temporary folder\n"), 1;
    QApplication application(argc, argv);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, QString::fromStdString(folder));
    {
        app::StudioOptions options;
        options.model = model;
        options.database = std::filesystem::path(folder) / "bench.db";
        options.restoreLayout = false;
        app::MainWindow window(options);
        bool painted = false;
        QObject::connect(&window, &app::MainWindow::painted, &window, [&] { painted = true; });
        window.show();
        runUntil([&] { return painted; }, 10.0);
        std::printf("%-46s %.2f s (limit 1)\n", "process start → first paint", secondsSinceProcessStart());
        const double before = steadySeconds();
        {
            StallMeter stalls;
            window.start();
            runUntil([&] { return window.models().model() != nullptr; }, 120.0);
            std::printf("%-46s %.2f s\n", "model loaded", steadySeconds() - before);
            runUntil([&] { return window.live().isUpToDate(); }, 120.0);
            std::printf("%-46s %.2f s\n", "first pictures complete", steadySeconds() - before);
            stalls.report("stall while the model loads");
        }
        measureDrag(window);
        measureRows(window, options.database, seconds);
        measureSearch(window, seconds);
    }
    std::filesystem::remove_all(folder);
    return 0;
}
