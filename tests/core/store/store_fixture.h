#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/store/store.h"

namespace lpes::store::test {

/// A fresh folder that everybody may enter, removed at the end, and a data base path in it.
class StoreTest : public ::testing::Test {
  protected:
    StoreTest() {
        std::string name = (std::filesystem::temp_directory_path() / "lpes-store-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        folder = std::filesystem::canonical(name);
        std::filesystem::permissions(folder, std::filesystem::perms(0755));
        path = folder / "lpes.db";
    }
    ~StoreTest() override {
        std::error_code ignored;
        std::filesystem::permissions(folder, std::filesystem::perms(0755), ignored);
        std::filesystem::remove_all(folder, ignored);
    }

    std::unique_ptr<StoreWriter> openWriter(const std::string& holder = "lpes test") {
        Result<std::unique_ptr<StoreWriter>> writer = StoreWriter::open(path, {holder});
        if (!writer) throw std::runtime_error(writer.error().text());
        return std::move(*writer);
    }
    std::unique_ptr<StoreReader> openReader() {
        Result<std::unique_ptr<StoreReader>> reader = StoreReader::open(path);
        if (!reader) throw std::runtime_error(reader.error().text());
        return std::move(*reader);
    }
    /// Only while no connection of the store is open in this process.
    void sql(const std::string& statements) {
        SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        database.exec(statements);
    }
    std::string ask(const std::string& query) {
        SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
        return database.execAndGet(query).getString();
    }

    std::filesystem::path folder, path;
};

inline RunRow someRun(const std::string& kind = "search") {
    RunRow run;
    run.kind = kind;
    run.label = "a run";
    run.settingsJson = R"({"seed":{"value":7,"origin":"flag"}})";
    run.seed = 7;
    run.device = "cpu";
    return run;
}

inline std::int64_t addRun(StoreWriter& writer, const std::string& kind = "search") {
    return writer.addRun(someRun(kind)).value();
}

inline OutcomeRow someOutcome(int item, int position) {
    OutcomeRow row;
    row.itemId = "item-" + std::to_string(item);
    row.position = position;
    row.goldIndex = position * 5;
    row.promptTokens = 185;
    row.correct = (item + position) % 2 == 0;
    row.nll = 0.1 * item + position;
    row.generated = "\"value\"";
    return row;
}

inline std::vector<OutcomeRow> threeOutcomes(int item) {
    return {someOutcome(item, 0), someOutcome(item, 1), someOutcome(item, 2)};
}

/// A forked process that writes to a pipe whose other end the test reads.
class Child {
  public:
    explicit Child(const std::function<void(int pipe)>& work) {
        int ends[2];
        if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
        m_pid = ::fork();
        if (m_pid == 0) {
            ::close(ends[0]);
            work(ends[1]);
            ::_exit(0);
        }
        ::close(ends[1]);
        m_pipe = ends[0];
    }
    ~Child() {
        if (m_pid > 0) kill();
        ::close(m_pipe);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// The next byte that the child wrote; false when it is gone and everything was read.
    bool readByte() {
        char byte = 0;
        return ::read(m_pipe, &byte, 1) == 1;
    }
    std::string readAll() {
        std::string text;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::read(m_pipe, buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
        return text;
    }
    void kill() {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
        m_pid = -1;
    }
    [[nodiscard]] pid_t pid() const { return m_pid; }

  private:
    pid_t m_pid = -1;
    int m_pipe = -1;
};

inline void say(int pipe, const std::string& text) {
    if (::write(pipe, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(9);
}

/// What `work` returns when it runs as a user who owns nothing (the tests may run as root, who may write anywhere).
inline std::string asNobody(const std::function<std::string()>& work) {
    Child child([&](int pipe) {
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
        say(pipe, work());
    });
    return child.readAll();
}

template <class T>
std::string outcomeText(const Result<T>& result) {
    return result ? "ok" : std::string(errorName(result.error().code)) + ": " + result.error().message;
}

}  // namespace lpes::store::test
