#include "core/model/formats/torch_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/model/formats/pickle.h"
#include "core/model/formats/torch_tensors.h"
#include "core/model/formats/zip_table.h"

namespace lpes::model {

namespace {

using Kind = PickleValue::Kind;
using Bytes = std::span<const std::byte>;
using Table = Result<std::vector<StoredTensor>>;

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::string_view kTarMagic = "ustar";
constexpr std::size_t kTarMagicAt = 257;
/// 0x1950a86a20f9469cfc6c, the number in front of the older layout.
constexpr std::string_view kOldMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kOldProtocol = 1001;

std::string_view textOf(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Table readZipLayout(Bytes bytes, const std::filesystem::path& file) {
    const auto entries = readZipTable(bytes, file);
    if (!entries) return fail(entries.error());
    // Every entry is in one folder, whose name is the file's at the time of saving.
    constexpr std::string_view kPickle = "/data.pkl";
    const auto pickled = std::find_if(entries->begin(), entries->end(), [&](const ZipEntry& entry) {
        return entry.name.ends_with(kPickle) && entry.name.find('/') == entry.name.size() - kPickle.size();
    });
    if (pickled == entries->end())
        return refuseFile(file, "the zip archive has no FOLDER/data.pkl, so it is no checkpoint that torch.save made");
    const std::string_view folder = pickled->name.substr(0, pickled->name.size() - kPickle.size() + 1);
    std::map<std::string_view, Bytes> parts;
    for (const ZipEntry& entry : *entries) {
        if (!entry.name.starts_with(folder)) {
            return refuseFile(
                file, fmt::format("the archive's entry '{}' is not in the folder '{}', so it is no checkpoint that "
                                  "torch.save made",
                                  entry.name.substr(0, 200), folder.substr(0, 200)));
        }
        parts.emplace(entry.name.substr(folder.size()), entry.bytes);
    }
    if (parts.contains("constants.pkl")) {
        return refuseFile(file,
                          "this is a TorchScript archive, which holds a program; only checkpoints of tensors are read",
                          ErrorCode::Unsupported);
    }
    if (const auto order = parts.find("byteorder"); order != parts.end() && textOf(order->second) != "little") {
        return refuseFile(file, "the checkpoint was saved on a big-endian machine, which is not supported",
                          ErrorCode::Unsupported);
    }
    const auto pickle = readPickle(pickled->bytes, file);
    if (!pickle) return fail(pickle.error());
    if (pickle->length != pickled->bytes.size())
        return refuseFile(file, "bytes stand behind the end of data.pkl; the file is damaged, fetch it again");
    const auto storages = storagesOf(*pickle, file);
    if (!storages) return fail(storages.error());
    std::map<std::string_view, Bytes> bytesOf;
    for (const auto& [key, storage] : *storages) {
        const auto part = parts.find(fmt::format("data/{}", key));
        if (part == parts.end() || part->second.size() != static_cast<std::uint64_t>(storage.bytes)) {
            return refuseFile(
                file, fmt::format("storage 'data/{}' needs {} bytes but {}; the file is damaged, fetch it again", key,
                                  storage.bytes,
                                  part == parts.end() ? "is missing" : fmt::format("has {}", part->second.size())));
        }
        bytesOf.emplace(key, part->second);
    }
    return tensorsOf(*pickle, *storages, bytesOf, file);
}

/// Pickles one behind the other, then the storages.
class OldLayout {
  public:
    OldLayout(Bytes bytes, const std::filesystem::path& file) : m_bytes(bytes), m_file(file) {}

    Table read() {
        Pickle dict;
        if (auto front = readFront(dict); !front) return fail(front.error());
        const auto storages = storagesOf(dict, m_file);
        if (!storages) return fail(storages.error());
        const auto keys = next();
        if (!keys) return fail(keys.error());
        const PickleValue& list = keys->at(keys->root);
        if (list.kind != Kind::List) return refuseFile(m_file, "the older layout's list of storages is missing");
        std::map<std::string_view, Bytes> bytesOf;
        for (const std::uint32_t item : list.items) {
            const PickleValue& key = keys->at(item);
            const auto storage = key.kind == Kind::String ? storages->find(key.text) : storages->end();
            if (storage == storages->end())
                return refuseFile(m_file,
                                  "a storage that no tensor has stands in the file; it is damaged, fetch it again");
            const auto bytes = takeStorage(storage->second);
            if (!bytes) return fail(bytes.error());
            if (!bytesOf.emplace(storage->first, *bytes).second)
                return refuseFile(m_file, "a storage stands twice in the file; it is damaged, fetch it again");
        }
        if (bytesOf.size() != storages->size())
            return refuseFile(m_file, "a tensor's storage is not in the file; it is damaged, fetch it again");
        if (m_at != m_bytes.size()) {
            return refuseFile(m_file,
                              fmt::format("{} bytes stand behind the last storage; the file is damaged, fetch it again",
                                          m_bytes.size() - m_at));
        }
        return tensorsOf(dict, *storages, bytesOf, m_file);
    }

  private:
    Result<Pickle> next() {
        auto pickle = readPickle(m_bytes.subspan(m_at), m_file);
        if (pickle) m_at += pickle->length;
        return pickle;
    }

    /// Magic number, protocol, the saving machine, then the state dict.
    Result<void> readFront(Pickle& dict) {
        const auto magic = next();
        if (!magic) return fail(magic.error());
        if (magic->at(magic->root).kind != Kind::Int || magic->at(magic->root).text != kOldMagic)
            return refuseFile(m_file,
                              "this is a pickle, but none that torch.save made; save the checkpoint with torch.save");
        const auto protocol = next();
        if (!protocol) return fail(protocol.error());
        const PickleValue& version = protocol->at(protocol->root);
        if (version.kind != Kind::Int || version.integer != kOldProtocol) {
            return refuseFile(
                m_file, fmt::format("the checkpoint's protocol is {}; {} is supported", version.integer, kOldProtocol),
                ErrorCode::Unsupported);
        }
        const auto machine = next();
        if (!machine) return fail(machine.error());
        const PickleValue& system = machine->at(machine->root);
        bool little = false;
        for (std::size_t i = 0; system.kind == Kind::Dict && i < system.items.size(); i += 2) {
            const PickleValue& value = machine->at(system.items[i + 1]);
            if (machine->at(system.items[i]).text == "little_endian")
                little = value.kind == Kind::Bool && value.integer == 1;
        }
        if (!little) {
            return refuseFile(m_file, "the checkpoint was not saved on a little-endian machine, which is not supported",
                              ErrorCode::Unsupported);
        }
        auto read = next();
        if (!read) return fail(read.error());
        dict = std::move(*read);
        return {};
    }

    /// The number of elements, then the elements.
    Result<Bytes> takeStorage(const TorchStorage& storage) {
        std::int64_t elements = 0;
        const std::size_t left = m_bytes.size() - m_at;
        if (left >= sizeof elements) std::memcpy(&elements, m_bytes.data() + m_at, sizeof elements);
        const auto bytes = static_cast<std::uint64_t>(storage.bytes);
        if (left < sizeof elements || bytes > left - sizeof elements) {
            return refuseFile(
                m_file, fmt::format("incomplete file (download interrupted?): storage '{}' needs {} bytes, but {} "
                                    "are left in the file; fetch it again",
                                    storage.key, bytes, left));
        }
        if (elements != storage.elements) {
            return refuseFile(
                m_file, fmt::format("storage '{}' has {} elements, where its tensors say {}; the file is damaged, "
                                    "fetch it again",
                                    storage.key, elements, storage.elements));
        }
        m_at += sizeof elements;
        const Bytes taken = m_bytes.subspan(m_at, bytes);
        m_at += bytes;
        return taken;
    }

    Bytes m_bytes;
    const std::filesystem::path& m_file;
    std::size_t m_at = 0;
};

}  // namespace

Result<std::vector<StoredTensor>> readTorchCheckpoint(Bytes bytes, const std::filesystem::path& file) {
    const std::string_view text = textOf(bytes);
    if (text.starts_with(kZipMagic)) return readZipLayout(bytes, file);
    if (text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with(kTarMagic)) {
        return refuseFile(
            file,
            "this is the tar layout of PyTorch before 0.1.10, which is not supported; save it again with a "
            "newer PyTorch",
            ErrorCode::Unsupported);
    }
    if (text.starts_with('\x80')) return OldLayout(bytes, file).read();
    return refuseFile(file, "this is no PyTorch checkpoint: it is neither a zip archive nor a pickle; fetch it again");
}

}  // namespace lpes::model
