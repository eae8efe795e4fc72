#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QSettings>
#include <cstdlib>
#include <memory>

#include "app/controllers/compare_controller.h"
#include "app/controllers/live_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/main_window.h"
#include "app/pages/compare_page.h"
#include "app/pages/edit_page.h"
#include "app/pages/search_page.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/support/qt_environment.h"
#include "widgets/common/message_bar.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/compare_panel.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/method_list.h"
#include "widgets/panels/method_table.h"
#include "widgets/panels/plot_pane.h"
#include "widgets/panels/run_list.h"

namespace lpes::test {

/// Longer prompts than the tests' default need.
[[nodiscard]] inline TinyModelSpec studioModel() {
    TinyModelSpec spec;
    spec.numLayers = 4;
    return spec;
}

/// A window on a tiny model, with settings, data base and draft in a folder of its own.
class StudioTest : public testing::Test {
  protected:
    StudioTest() : folder(studioModel()) {
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope,
                           QString::fromStdString((folder / "settings").string()));
    }
    void TearDown() override {
        window.reset();
        settle();
    }

    [[nodiscard]] app::StudioOptions options() const {
        app::StudioOptions options;
        options.model = folder.model();
        options.database = folder / "lpes.db";
        options.draftFolder = folder / "curves";
        options.study = study();
        options.restoreLayout = false;
        return options;
    }
    [[nodiscard]] studies::SearchRunSettings study() const {
        studies::SearchRunSettings settings = smallSearch(folder);
        settings.compute.dtype = "auto";
        // Long enough for the window to see it under way, also on a busy machine.
        settings.search.maxGenerations = 12;
        settings.search.population = 12;
        settings.searchItems = 12;
        return settings;
    }
    app::MainWindow& open() { return open(options()); }
    app::MainWindow& open(const app::StudioOptions& with) {
        window = std::make_unique<app::MainWindow>(with);
        window->show();
        window->start();
        return *window;
    }
    /// …and waits until model and pictures are there.
    app::MainWindow& openReady() {
        open();
        EXPECT_TRUE(waitFor([this] { return window->models().model() && window->live().isUpToDate(); }));
        return *window;
    }
    [[nodiscard]] widgets::SearchState state() const { return window->search().state(); }
    [[nodiscard]] bool waitForState(widgets::SearchState wanted) {
        return waitFor([&] { return state() == wanted; });
    }
    /// Starts a search and waits until its run is in the data base.
    void startSearch() {
        window->search().startAction()->trigger();
        EXPECT_TRUE(waitFor([this] {
            const auto detail = window->stores().detail();
            return detail && detail->run.state == store::RunState::Running;
        }));
    }
    void waitForEnd() {
        EXPECT_TRUE(waitFor([this] { return !window->search().isBusy(); }, 60000));
    }
    /// For looking at it: LPES_TEST_PICTURES names a folder.
    void picture(const char* name) {
        const char* pictures = std::getenv("LPES_TEST_PICTURES");
        if (pictures)
            window->grab().save(QStringLiteral("%1/%2.png").arg(QLatin1String(pictures), QLatin1String(name)));
    }
    [[nodiscard]] std::unique_ptr<store::StoreReader> reader() const {
        return take(store::StoreReader::open(folder / "lpes.db"));
    }

    StudyFolder folder;
    std::unique_ptr<app::MainWindow> window;
};

}  // namespace lpes::test
