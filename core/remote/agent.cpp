#include "core/remote/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/version.h"
#include "core/remote/data_files.h"
#include "core/remote/messages.h"
#include "core/store/store.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr int kLookEveryMs = 100;
constexpr std::size_t kLogPart = 1u << 20;
constexpr std::size_t kMaxOutput = 256u << 20;
constexpr std::uint64_t kLastLines = 4096;

json done() {
    json answer = json::object();
    answer["type"] = "done";
    return answer;
}

/// A name beneath a folder that cannot lead out of it.
bool staysInside(const fs::path& name) {
    if (name.empty() || name.is_absolute()) return false;
    for (const fs::path& part : name) {
        if (part == ".." || part == "." || part.empty()) return false;
    }
    return true;
}

/// Where the last few lines of a log begin.
std::uint64_t lastLinesOf(const fs::path& log) {
    std::error_code missing;
    const auto size = static_cast<std::uint64_t>(fs::file_size(log, missing));
    if (missing || size <= kLastLines) return 0;
    const LogLines part = readLog(log, size - kLastLines, false);
    // The first of them is the rest of a line.
    return part.lines.empty() ? size : part.firstEnd;
}

/// Whether these data are there.
bool hasKey(const fs::path& place, const std::string& key) {
    std::error_code ignored;
    if (!fs::exists(place, ignored)) return false;
    const auto data = listData(place);
    return data && data->key == key;
}

bool isKey(const std::string& key) {
    return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

LogLines readLog(const fs::path& log, std::uint64_t from, bool ended) {
    LogLines read;
    read.next = from;
    const Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) return read;
    std::string text(kLogPart, '\0');
    const ssize_t got = ::pread(file.fd, text.data(), text.size(), static_cast<off_t>(from));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const bool all = text.size() < kLogPart;
    bool afterProgress = false;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.find('\n', begin);
        if (end == std::string::npos) {
            // Half a line is left for the next time, unless no more comes; one that fills the part is none of ours.
            const bool last = ended && all, endless = begin == 0 && !all;
            if (!last && !endless) break;
            end = text.size();
        }
        const std::size_t behind = std::min(end + 1, text.size());
        if (begin == 0) read.firstEnd = from + behind;
        std::string line = text.substr(begin, end - begin);
        begin = behind;
        read.next = from + behind;
        if (line.empty()) continue;
        const bool progress = parseProgressLine(line).progress.has_value();
        if (progress && afterProgress) read.lines.pop_back();
        afterProgress = progress;
        read.lines.push_back({std::move(line), read.next});
    }
    return read;
}

void Agent::serve() {
    // A login shell may have left a line open, as those do that set the title of a terminal.
    if (!m_channel.sendLineEnd()) return;
    if (!m_channel.send({{"lpes_remote", kProtocol}, {"version", kVersion}, {"schema", store::kSchemaVersion}})) return;
    for (;;) {
        const Channel::Incoming incoming = m_channel.receive(m_followed ? kLookEveryMs : -1);
        if (incoming.kind == Channel::Kind::Closed) return;
        if (incoming.kind == Channel::Kind::Message && !answer(incoming.message)) return;
        if (m_followed && !tellNews()) return;
    }
}

bool Agent::answer(const json& request) {
    const std::string what = textIn(request, "do");
    if (what == "rows") return sendRows(request);
    const Answer performed = perform(what, request);
    return performed ? m_channel.send(*performed).has_value() : refuse(performed.error());
}

bool Agent::refuse(const Error& error) {
    json refusal = toJson(error);
    refusal["type"] = "error";
    return m_channel.send(refusal).has_value();
}

Agent::Answer Agent::perform(const std::string& what, const json& request) {
    if (what == "find_data") return findData(request);
    if (what == "exists") return exists(request);
    if (what == "put") return putFile(request);
    if (what == "keep_data") return keepData(request);
    if (what == "start") return start(request);
    if (what == "resume") return resume(request);
    if (what == "follow") return follow(request);
    if (what == "stop") return stop(request);
    if (what == "forget") return forget(request);
    return fail(ErrorCode::Unsupported, fmt::format("lpes {} does not know the request '{}'", kVersion, what));
}

Result<JobFolder> Agent::jobOf(const json& request) const {
    return JobFolder::named(m_options.root, textIn(request, "job"));
}

Result<JobFolder> Agent::existingJob(const json& request) const {
    auto job = jobOf(request);
    if (job && !job->exists()) {
        return fail(ErrorCode::Usage, fmt::format("the search '{}' is not here any more, for its folder '{}' was "
                                                  "removed; what came home of it can go on there "
                                                  "with 'lpes resume RUN --here'",
                                                  textIn(request, "job"), job->path().string()));
    }
    return job;
}

Result<fs::path> Agent::dataFolder(const json& request, bool part) const {
    const std::string key = textIn(request, "key");
    if (!isKey(key)) return fail(ErrorCode::Usage, fmt::format("'{}' is no key of data", key));
    return m_options.root / "data" / (part ? key + ".part" : key);
}

/// The same data under the name that they have at home (a shared disk), or what came once before; null where neither is
/// here.
Agent::Answer Agent::findData(const json& request) {
    const auto folder = dataFolder(request, false);
    if (!folder) return fail(folder.error());
    json found{{"type", "data"}, {"path", nullptr}};
    const fs::path name = textIn(request, "name");
    if (!staysInside(name)) return fail(ErrorCode::Usage, fmt::format("'{}' is no name of data", name.string()));
    // Looked into each time: somebody may have edited them, or the power have gone before they were on the disk.
    for (const fs::path& place : {*folder / name, fs::path(textIn(request, "path"))}) {
        if (!place.is_absolute() || !hasKey(place, textIn(request, "key"))) continue;
        found["path"] = place.string();
        break;
    }
    return found;
}

Agent::Answer Agent::exists(const json& request) {
    std::error_code ignored;
    return json{{"type", "exists"}, {"there", fs::exists(textIn(request, "path"), ignored)}};
}

Agent::Answer Agent::putFile(const json& request) {
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(numberIn(request, "bytes"), 0));
    const auto folder = dataFolder(request, true);
    const fs::path name = textIn(request, "file");
    // The bytes come whatever we think of the request.
    fs::path target = "/dev/null";
    std::error_code error;
    const bool sound = folder && staysInside(name);
    if (sound) {
        target = *folder / name;
        fs::create_directories(target.parent_path(), error);
    }
    const auto received = m_channel.receiveFile(target, bytes);
    if (!folder) return fail(folder.error());
    if (!sound) return fail(ErrorCode::Usage, fmt::format("'{}' is no name of a data file", name.string()));
    if (error) return fail(notWritten(target, error.message()));
    if (!received) return fail(received.error());
    return done();
}

Agent::Answer Agent::keepData(const json& request) {
    const auto part = dataFolder(request, true), folder = dataFolder(request, false);
    if (!folder) return fail(folder.error());
    const fs::path name = textIn(request, "name");
    if (!staysInside(name)) return fail(ErrorCode::Usage, fmt::format("'{}' is no name of data", name.string()));
    const auto arrived = listData(*part / name);
    if (!arrived) return fail(arrived.error());
    if (arrived->key != textIn(request, "key")) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' changed while it was copied; start the search again", name.string()));
    }
    std::error_code error;
    if (hasKey(*folder / name, arrived->key)) {
        // Another search brought them meanwhile, and may be reading them.
        fs::remove_all(*part, error);
    } else {
        fs::remove_all(*folder, error);
        fs::rename(*part, *folder, error);
        if (error) return fail(notWritten(*folder, error.message()));
    }
    return json{{"type", "data"}, {"path", (*folder / name).string()}};
}

Agent::Answer Agent::start(const json& request) {
    auto job = jobOf(request);
    if (!job) return fail(job.error());
    if (!request.contains("settings")) return fail(ErrorCode::Usage, "a search needs settings");
    const auto made = job->make();
    if (!made) return fail(made.error());
    // A connection that was lost may ask again for what has begun, or ended, by now.
    if (!*made && job->process()) return done();
    Result<void> started = job->writeOrder({request["settings"], std::nullopt});
    if (started) started = job->start(m_options.jobCommand);
    if (started) return done();
    if (*made) job->remove();
    return fail(started.error());
}

/// What goes on is left alone, as is what is finished: both are answered by following.
Agent::Answer Agent::resume(const json& request) {
    auto job = existingJob(request);
    if (!job) return fail(job.error());
    const auto end = job->readEnd();
    if (job->alive() || (end && end->exitCode == 0)) return done();
    if (const auto process = job->process(); process && process->elsewhere() && !end) {
        return fail(ErrorCode::Failed,
                    fmt::format("the search was started on '{}', and it cannot be seen from here whether it still "
                                "runs; connect to that machine",
                                process->machine));
    }
    auto order = job->readOrder();
    if (!order) return fail(order.error());
    if (const std::int64_t workers = numberIn(request, "workers"); workers > 0) {
        order->workers = static_cast<int>(workers);
    }
    if (auto written = job->writeOrder(*order); !written) return fail(written.error());
    if (auto started = job->start(m_options.jobCommand); !started) return fail(started.error());
    return done();
}

Agent::Answer Agent::stop(const json& request) {
    auto job = existingJob(request);
    if (!job) return fail(job.error());
    if (auto asked = job->askToStop(); !asked) return fail(asked.error());
    return done();
}

Agent::Answer Agent::follow(const json& request) {
    auto job = existingJob(request);
    if (!job) return fail(job.error());
    const std::int64_t offset = numberIn(request, "offset");
    m_offset = offset < 0 ? lastLinesOf(job->log()) : static_cast<std::uint64_t>(offset);
    m_followed = std::move(*job);
    return done();
}

Agent::Answer Agent::forget(const json& request) {
    auto job = jobOf(request);
    if (!job) return fail(job.error());
    if (job->alive()) return fail(ErrorCode::Usage, "the search goes on; stop it before it is forgotten");
    if (m_followed && m_followed->path() == job->path()) m_followed.reset();
    job->remove();
    return done();
}

bool Agent::sendRows(const json& request) {
    const json none{{"type", "rows"}, {"bytes", 0}};
    auto job = existingJob(request);
    if (!job) return refuse(job.error());
    std::error_code missing;
    if (!fs::exists(job->database(), missing)) return m_channel.send(none).has_value();
    // Connections that are dying, or of two followers, may send rows at the same time.
    const fs::path file = job->path() / fmt::format("rows-{}.db", ::getpid());
    fs::remove(file, missing);
    std::int64_t runId = 0;
    {
        auto reader = store::StoreReader::open(job->database());
        // One that is being made has no schema yet.
        if (!reader && job->alive()) return m_channel.send(none).has_value();
        if (!reader) return refuse(reader.error());
        const auto runs = (*reader)->runs();
        if (!runs) return refuse(runs.error());
        if (runs->empty()) return m_channel.send(none).has_value();
        runId = runs->front().id;
    }
    if (auto extracted = store::extractRun(job->database(), runId, file); !extracted) return refuse(extracted.error());
    const auto bytes = static_cast<std::uint64_t>(fs::file_size(file, missing));
    bool sent = m_channel.send({{"type", "rows"}, {"bytes", bytes}, {"run", runId}}).has_value();
    if (sent) sent = m_channel.sendFile(file, bytes).has_value();
    fs::remove(file, missing);
    return sent;
}

bool Agent::tellNews() {
    // In this order: what a process that is gone has written is all there by now. One that has noted its end and is
    // still about to go counts as alive, or a search that is resumed or forgotten at once would be found at work.
    const bool ended = !m_followed->alive();
    const LogLines news = readLog(m_followed->log(), m_offset, ended);
    for (const LogLines::Line& line : news.lines) {
        if (!m_channel.send({{"type", "line"}, {"next", line.next}, {"text", line.text}})) return false;
    }
    const bool more = news.next != m_offset;
    m_offset = news.next;
    if (!ended || more) return true;
    const JobFolder job = *m_followed;
    m_followed.reset();
    return m_channel.send(endOf(job)).has_value();
}

json Agent::endOf(const JobFolder& job) const {
    json message{{"type", "ended"}, {"exit_code", nullptr}, {"out", ""}};
    const auto end = job.readEnd();
    if (!end) {
        const auto process = job.process();
        if (process && process->elsewhere()) message["elsewhere"] = process->machine;
        return message;
    }
    message["exit_code"] = end->exitCode;
    if (end->error) message["error"] = toJson(*end->error);
    if (auto printed = readTextFile(job.output(), kMaxOutput)) message["out"] = std::move(*printed);
    return message;
}

}  // namespace lpes::remote
