#include "core/tasks/line_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/stop.h"

namespace lpes::tasks {

struct LineReader::Impl {
    std::filesystem::path path;
    std::stop_token stop;
    std::size_t maxLineBytes = 0;
    std::int64_t lineNumber = 0;
    std::optional<Error> failure;

    int fd = -1;
    bool fileEnded = false;
    bool compressed = false;
    bool memberOpen = false;  ///< inside a gzip member: the end of the file is an early end
    bool ended = false;       ///< no more text to come
    z_stream stream{};
    bool streamReady = false;

    std::array<unsigned char, 1 << 16> input{};
    std::size_t inputBegin = 0, inputEnd = 0;
    std::array<char, 1 << 16> text{};
    std::size_t textBegin = 0, textEnd = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (streamReady) ::inflateEnd(&stream);
        if (fd >= 0) ::close(fd);
    }

    tl::unexpected<Error> refuse(const std::string& what, std::string detail = {}) {
        failure = Error{ErrorCode::BadInput,
                        fmt::format("'{}', line {}: {}", path.string(), lineNumber + 1, what),
                        std::move(detail),
                        {}};
        return fail(*failure);
    }

    /// Adds bytes of the file behind those not yet used.
    Result<void> readMore() {
        if (inputBegin == inputEnd) inputBegin = inputEnd = 0;
        if (inputEnd == input.size()) return {};
        for (;;) {
            const ssize_t got = ::read(fd, input.data() + inputEnd, input.size() - inputEnd);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return refuse("the file cannot be read any further", std::strerror(errno));
            fileEnded = got == 0;
            inputEnd += static_cast<std::size_t>(got);
            return {};
        }
    }

    /// Fills `text` with what comes next; `ended` when there is nothing more.
    Result<void> fill() {
        if (stop.stop_requested()) {
            failure = Error{ErrorCode::Failed, kStoppedMessage, {}, {}};
            return fail(*failure);
        }
        textBegin = textEnd = 0;
        while (textEnd == 0 && !ended) {
            if (inputBegin == inputEnd && !fileEnded) {
                if (auto read = readMore(); !read) return read;
            }
            auto step = compressed ? inflateStep() : copyStep();
            if (!step) return step;
        }
        return {};
    }

    Result<void> copyStep() {
        const std::size_t size = inputEnd - inputBegin;
        std::memcpy(text.data(), input.data() + inputBegin, size);
        inputBegin = inputEnd;
        textEnd = size;
        if (size == 0 && fileEnded) ended = true;
        return {};
    }

    Result<void> inflateStep() {
        if (!memberOpen) {
            if (inputBegin == inputEnd) {
                ended = fileEnded;
                return {};
            }
            // gzip files may consist of several members, but what follows a member has to be one.
            if (input[inputBegin] != 0x1f) {
                return refuse("the gzip stream is followed by bytes that do not belong to it; the file is damaged");
            }
            ::inflateReset(&stream);
            memberOpen = true;
        }
        stream.next_in = input.data() + inputBegin;
        stream.avail_in = static_cast<uInt>(inputEnd - inputBegin);
        stream.next_out = reinterpret_cast<Bytef*>(text.data());
        stream.avail_out = static_cast<uInt>(text.size());
        const int status = ::inflate(&stream, Z_NO_FLUSH);
        inputBegin = inputEnd - stream.avail_in;
        textEnd = text.size() - stream.avail_out;
        if (status == Z_STREAM_END) {
            memberOpen = false;
        } else if (status == Z_MEM_ERROR) {
            failure = Error{
                ErrorCode::OutOfMemory,
                fmt::format("not enough memory to decompress '{}'; close other programs and try again", path.string()),
                {},
                {}};
            return fail(*failure);
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            return refuse("the gzip stream is damaged; fetch the file again",
                          stream.msg != nullptr ? stream.msg : fmt::format("zlib status {}", status));
        } else if (textEnd == 0 && inputBegin == inputEnd && fileEnded) {
            return refuse("the gzip stream is incomplete (download interrupted?); fetch the file again");
        }
        return {};
    }
};

LineReader::LineReader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;

std::int64_t LineReader::lineNumber() const {
    return m_impl->lineNumber;
}

Result<LineReader> LineReader::open(const std::filesystem::path& path, std::stop_token stop, std::size_t maxLineBytes) {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->stop = std::move(stop);
    impl->maxLineBytes = maxLineBytes;
    impl->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (impl->fd < 0) {
        return fail(ErrorCode::BadInput,
                    fmt::format("cannot read '{}'; check the path and its permissions", path.string()),
                    std::strerror(errno));
    }
    struct stat info {};
    if (::fstat(impl->fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' is a folder; name the .jsonl or .jsonl.gz file", path.string()));
    }
    // A pipe may deliver its first byte alone.
    while (impl->inputEnd < 2 && !impl->fileEnded) {
        if (auto read = impl->readMore(); !read) return fail(read.error());
    }
    impl->compressed = impl->inputEnd >= 2 && impl->input[0] == 0x1f && impl->input[1] == 0x8b;
    if (impl->compressed) {
        if (::inflateInit2(&impl->stream, 16 + MAX_WBITS) != Z_OK) {
            return fail(ErrorCode::OutOfMemory, fmt::format("not enough memory to decompress '{}'", path.string()));
        }
        impl->streamReady = true;
    }
    return LineReader(std::move(impl));
}

Result<bool> LineReader::next(std::string& line) try {
    Impl& self = *m_impl;
    line.clear();
    if (self.failure) return fail(*self.failure);
    for (;;) {
        const std::string_view rest(self.text.data() + self.textBegin, self.textEnd - self.textBegin);
        const std::size_t newline = rest.find('\n');
        const std::string_view part = rest.substr(0, newline);
        if (line.size() + part.size() > self.maxLineBytes) {
            line.clear();
            return self.refuse(
                fmt::format("the line is longer than the {} bytes that are accepted", self.maxLineBytes));
        }
        line += part;
        if (newline != std::string_view::npos) {
            self.textBegin += newline + 1;
            ++self.lineNumber;
            return true;
        }
        if (auto filled = self.fill(); !filled) {
            line.clear();
            return fail(filled.error());
        }
        if (self.textBegin == self.textEnd) {
            if (line.empty()) return false;
            ++self.lineNumber;
            return true;
        }
    }
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("not enough memory for line {} of '{}'", m_impl->lineNumber + 1, m_impl->path.string()));
}

}  // namespace lpes::tasks
