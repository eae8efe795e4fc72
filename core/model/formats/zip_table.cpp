#include "core/model/formats/zip_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "core/base/files.h"

namespace lpes::model {

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::uint64_t kMaxComment = 65535;
constexpr std::uint32_t kElsewhere32 = 0xffffffff;  ///< the number stands in the zip64 field
constexpr std::uint16_t kElsewhere16 = 0xffff;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kEncrypted = 1;

/// Where the table of entries is.
struct Table {
    std::uint64_t count = 0, size = 0, offset = 0;
    std::uint64_t end = 0;  ///< first byte that must stand behind it
};

struct Central {
    std::string_view name;
    std::uint16_t flags = 0, method = 0;
    std::uint64_t size = 0, stored = 0, header = 0;
};

class Reader {
  public:
    Reader(std::span<const std::byte> bytes, const std::filesystem::path& file) : m_bytes(bytes), m_file(file) {}

    Result<std::vector<ZipEntry>> read() {
        const auto table = findTable();
        if (!table) return fail(table.error());
        std::uint64_t at = table->offset;
        std::vector<ZipEntry> entries;
        std::vector<Extent> extents;
        std::set<std::string_view> names;
        for (std::uint64_t i = 0; i < table->count; ++i) {
            auto central = readCentral(at, table->offset + table->size, i);
            if (!central) return fail(central.error());
            if (auto sound = checkName(central->name, i); !sound) return fail(sound.error());
            if (!names.insert(central->name).second) return refuse(named(central->name, "stands twice"));
            auto entry = locate(*central, table->offset, extents);
            if (!entry) return fail(entry.error());
            entries.push_back(*entry);
        }
        if (at != table->offset + table->size) return refuse("the zip archive's table has bytes behind its last entry");
        if (auto apart = checkApart(extents); !apart) return fail(apart.error());
        return entries;
    }

  private:
    struct Extent {
        std::uint64_t begin = 0, end = 0;
        std::string_view name;
    };

    template <class T>
    T get(std::uint64_t at) const {
        T value;
        std::memcpy(&value, m_bytes.data() + at, sizeof value);
        return value;
    }
    std::string_view text(std::uint64_t at, std::uint64_t length) const {
        return {reinterpret_cast<const char*>(m_bytes.data()) + at, length};
    }

    tl::unexpected<Error> refuse(const std::string& why, ErrorCode code = ErrorCode::BadInput) const {
        const char* remedy = code == ErrorCode::BadInput ? "; the file is damaged, fetch it again" : "";
        return refuseFile(m_file, why + remedy, code);
    }
    static std::string named(std::string_view name, const std::string& what) {
        return fmt::format("the archive's entry '{}' {}", name.substr(0, 200), what);
    }

    std::optional<std::uint64_t> findEnd() const {
        if (m_bytes.size() < kEndBytes) return std::nullopt;
        const std::uint64_t last = m_bytes.size() - kEndBytes;
        const std::uint64_t first = last - std::min(last, kMaxComment);
        for (std::uint64_t at = last + 1; at-- > first;) {
            if (get<std::uint32_t>(at) == kEnd && get<std::uint16_t>(at + 20) == last - at) return at;
        }
        return std::nullopt;
    }

    Result<Table> findTable() const {
        const auto end = findEnd();
        if (!end) {
            return refuse(
                fmt::format("incomplete file (download interrupted?): the zip archive has no end record in {} "
                            "bytes",
                            m_bytes.size()));
        }
        if (get<std::uint16_t>(*end + 4) != 0 || get<std::uint16_t>(*end + 6) != 0)
            return refuse("the zip archive is in several files, which is not supported", ErrorCode::Unsupported);
        Table table{get<std::uint16_t>(*end + 10), get<std::uint32_t>(*end + 12), get<std::uint32_t>(*end + 16), *end};
        if (*end >= kLocator64Bytes && get<std::uint32_t>(*end - kLocator64Bytes) == kLocator64) {
            if (auto wide = readEnd64(*end - kLocator64Bytes, table); !wide) return fail(wide.error());
        }
        // The table ends where the end record begins, so that no reader can take other bytes for it.
        if (table.size > table.end || table.offset != table.end - table.size ||
            table.count > table.size / kCentralBytes) {
            return refuse(
                fmt::format("the zip archive's end record gives {} entries in {} bytes at byte {}, which do not "
                            "end where it begins, at byte {}",
                            table.count, table.size, table.offset, table.end));
        }
        return table;
    }

    Result<void> readEnd64(std::uint64_t locator, Table& table) const {
        const auto at = get<std::uint64_t>(locator + 8);
        if (locator < kEnd64Bytes || at > locator - kEnd64Bytes || get<std::uint32_t>(at) != kEnd64)
            return refuse(fmt::format("the zip archive's zip64 end record is not at byte {}", at));
        const auto length = get<std::uint64_t>(at + 4);
        if (length != locator - at - 12) return refuse(fmt::format("the zip64 end record has a length of {}", length));
        const Table wide{get<std::uint64_t>(at + 32), get<std::uint64_t>(at + 40), get<std::uint64_t>(at + 48), at};
        const auto agrees = [](std::uint64_t narrow, std::uint64_t elsewhere, std::uint64_t value) {
            return narrow == elsewhere || narrow == value;
        };
        if (!agrees(table.count, kElsewhere16, wide.count) || !agrees(table.size, kElsewhere32, wide.size) ||
            !agrees(table.offset, kElsewhere32, wide.offset)) {
            return refuse("the zip archive's two end records contradict each other");
        }
        table = wide;
        return {};
    }

    Result<Central> readCentral(std::uint64_t& at, std::uint64_t end, std::uint64_t number) const {
        const auto cut = [&] { return refuse(fmt::format("entry {} of the zip archive's table is damaged", number)); };
        if (end - at < kCentralBytes || get<std::uint32_t>(at) != kCentralHeader) return cut();
        const std::uint64_t nameBytes = get<std::uint16_t>(at + 28), extraBytes = get<std::uint16_t>(at + 30);
        const std::uint64_t commentBytes = get<std::uint16_t>(at + 32);
        if (end - at - kCentralBytes < nameBytes + extraBytes + commentBytes) return cut();
        Central central;
        central.flags = get<std::uint16_t>(at + 8);
        central.method = get<std::uint16_t>(at + 10);
        central.stored = get<std::uint32_t>(at + 20);
        central.size = get<std::uint32_t>(at + 24);
        central.header = get<std::uint32_t>(at + 42);
        central.name = text(at + kCentralBytes, nameBytes);
        if (!readExtra(at + kCentralBytes + nameBytes, extraBytes, central)) return cut();
        at += kCentralBytes + nameBytes + extraBytes + commentBytes;
        return central;
    }

    /// Takes the 64-bit numbers of those that did not fit, in the order that the format gives them.
    bool readExtra(std::uint64_t at, std::uint64_t bytes, Central& central) const {
        const std::uint64_t end = at + bytes;
        while (end - at >= 4) {
            const auto id = get<std::uint16_t>(at);
            const std::uint64_t length = get<std::uint16_t>(at + 2);
            at += 4;
            if (length > end - at) return false;
            if (id == kZip64Field) {
                std::uint64_t field = at;
                for (std::uint64_t* number : {&central.size, &central.stored, &central.header}) {
                    if (*number != kElsewhere32) continue;
                    if (at + length - field < 8) return false;
                    *number = get<std::uint64_t>(field);
                    field += 8;
                }
                return true;
            }
            at += length;
        }
        return true;
    }

    Result<void> checkName(std::string_view name, std::uint64_t number) const {
        const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
        if (name.empty() || !printable || name.find('\\') != std::string_view::npos)
            return refuse(fmt::format("entry {} of the zip archive has a name that no checkpoint has", number));
        const std::string slashed = "/" + std::string(name) + "/";
        if (name.front() == '/' || slashed.find("/../") != std::string::npos)
            return refuse(named(name, "has a name that leads out of the archive"));
        return {};
    }

    Result<ZipEntry> locate(const Central& central, std::uint64_t limit, std::vector<Extent>& extents) const {
        if ((central.flags & kEncrypted) != 0)
            return refuse(named(central.name, "is encrypted, which is not supported"), ErrorCode::Unsupported);
        if (central.method != 0) {
            return refuse(named(central.name, fmt::format("is compressed (method {}), which is not supported; save the "
                                                          "checkpoint again with torch.save",
                                                          central.method)),
                          ErrorCode::Unsupported);
        }
        if (central.stored != central.size) {
            return refuse(
                named(central.name, fmt::format("is stored in {} bytes but has {}", central.stored, central.size)));
        }
        const auto outside = [&] {
            return refuse(named(central.name, fmt::format("has {} bytes at byte {}, which do not fit in front of the "
                                                          "table at byte {}",
                                                          central.size, central.header, limit)));
        };
        if (limit < kLocalBytes || central.header > limit - kLocalBytes) return outside();
        if (get<std::uint32_t>(central.header) != kLocalHeader) {
            return refuse(named(central.name, fmt::format("has no header at byte {}", central.header)));
        }
        const std::uint64_t nameBytes = get<std::uint16_t>(central.header + 26);
        const std::uint64_t behind = nameBytes + get<std::uint16_t>(central.header + 28);
        const std::uint64_t rest = limit - central.header - kLocalBytes;
        if (behind > rest || central.size > rest - behind) return outside();
        const std::uint64_t begin = central.header + kLocalBytes + behind;
        if (text(central.header + kLocalBytes, nameBytes) != central.name)
            return refuse(named(central.name, "has another name in its own header"));
        if (get<std::uint16_t>(central.header + 8) != 0)
            return refuse(named(central.name, "is stored in another way than its own header says"));
        extents.push_back({central.header, begin + central.size, central.name});
        return ZipEntry{central.name, m_bytes.subspan(begin, central.size)};
    }

    Result<void> checkApart(std::vector<Extent>& extents) const {
        std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < extents.size(); ++i) {
            if (extents[i].begin < extents[i - 1].end)
                return refuse(named(extents[i].name, fmt::format("overlaps '{}'", extents[i - 1].name.substr(0, 200))));
        }
        return {};
    }

    std::span<const std::byte> m_bytes;
    const std::filesystem::path& m_file;
};

}  // namespace

Result<std::vector<ZipEntry>> readZipTable(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    return Reader(bytes, file).read();
}

}  // namespace lpes::model
