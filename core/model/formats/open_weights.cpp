#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <system_error>
#include <unordered_map>

#include "core/base/files.h"
#include "core/model/formats/gguf_config.h"
#include "core/model/formats/gguf_set.h"
#include "core/model/formats/hf_config.h"
#include "core/model/formats/mapped_weights.h"
#include "core/model/formats/safetensors.h"
#include "core/model/formats/torch_checkpoint.h"

namespace lpes::model {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxConfigBytes = 4u << 20;
constexpr std::size_t kMaxIndexBytes = 64u << 20;

/// The names that a folder's weights have in one of the two formats, and the reader of its files.
struct FolderFormat {
    const char* name;
    const char* single;
    const char* index;
    const char* extension;
    Result<std::vector<StoredTensor>> (*readTable)(std::span<const std::byte>, const fs::path&);
};
/// In the order that they are looked for, as transformers does.
constexpr FolderFormat kFormats[] = {
    {"safetensors", "model.safetensors", "model.safetensors.index.json", ".safetensors", readSafetensorsTable},
    {"pytorch", "pytorch_model.bin", "pytorch_model.bin.index.json", ".bin", readTorchCheckpoint},
};

using Opened = Result<std::shared_ptr<const WeightSource>>;

struct MappedTensors {
    const char* format = "";
    std::vector<MappedFile> files;
    std::vector<StoredTensor> tensors;
};

bool isThere(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// weight_map of an index: tensor → shard, a plain file name in the same folder.
Result<std::unordered_map<std::string, std::string>> readIndex(const fs::path& file, const FolderFormat& format) {
    const auto text = readTextFile(file, kMaxIndexBytes);
    if (!text) return fail(text.error());
    const auto parsed = parseJsonObject(*text, file, "index");
    if (!parsed) return fail(parsed.error());
    const auto map = parsed->find("weight_map");
    if (map == parsed->end() || !map->is_object() || map->empty()) {
        return refuseFile(file, "field 'weight_map' is missing or empty; fetch the file again");
    }
    std::unordered_map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        const std::string name = shard.is_string() ? shard.get<std::string>() : "";
        const bool plain = name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
        if (!plain || !name.ends_with(format.extension)) {
            return refuseFile(
                file, fmt::format("weight_map gives {} for '{}'; the name of a {} file in the same folder is needed",
                                  shown(shard), tensor.substr(0, 200), format.extension));
        }
        shards.emplace(tensor, name);
    }
    return shards;
}

/// Maps one more file and returns its table.
Result<std::vector<StoredTensor>> mapFile(const fs::path& path, const FolderFormat& format, MappedTensors& mapped) {
    auto file = MappedFile::open(path);
    if (!file) return fail(file.error());
    auto table = format.readTable(file->bytes(), file->path());
    mapped.files.push_back(std::move(*file));
    return table;
}

Result<MappedTensors> mapShards(const fs::path& folder, const FolderFormat& format) {
    const fs::path indexFile = folder / format.index;
    const auto index = readIndex(indexFile, format);
    if (!index) return fail(index.error());
    std::set<std::string> names;
    for (const auto& [tensor, shard] : *index) names.insert(shard);
    std::vector<std::string> missing;
    for (const std::string& name : names) {
        if (!isThere(folder / name)) missing.push_back(name);
    }
    if (!missing.empty()) {
        const std::size_t total = missing.size();
        if (total > 10) missing.resize(10);
        return refuseFile(indexFile, fmt::format("{} of {} shards are missing in the folder ({}{}); fetch them", total,
                                                 names.size(), fmt::join(missing, ", "), total > 10 ? ", ..." : ""));
    }
    MappedTensors mapped{format.name, {}, {}};
    for (const std::string& name : names) {
        auto table = mapFile(folder / name, format, mapped);
        if (!table) return fail(table.error());
        for (StoredTensor& tensor : *table) {
            const auto entry = index->find(tensor.name);
            if (entry != index->end() && entry->second == name) mapped.tensors.push_back(std::move(tensor));
        }
    }
    return mapped;
}

Result<MappedTensors> mapFolder(const fs::path& folder) {
    std::vector<std::string> names;
    for (const FolderFormat& format : kFormats) {
        if (isThere(folder / format.single)) {
            MappedTensors mapped{format.name, {}, {}};
            auto table = mapFile(folder / format.single, format, mapped);
            if (!table) return fail(table.error());
            mapped.tensors = std::move(*table);
            return mapped;
        }
        if (isThere(folder / format.index)) return mapShards(folder, format);
        names.insert(names.end(), {format.single, format.index});
    }
    return refuseFile(folder,
                      fmt::format("the folder has none of {}; fetch the model's weights", fmt::join(names, ", ")));
}

Opened openFolder(const fs::path& folder) {
    const fs::path configFile = folder / "config.json";
    if (!isThere(configFile)) {
        return refuseFile(folder,
                          "the folder has no config.json; give the folder of a Hugging Face model, or a .gguf file");
    }
    const auto text = readTextFile(configFile, kMaxConfigBytes);
    if (!text) return fail(text.error());
    auto draft = readHuggingFaceConfig(*text, configFile);
    if (!draft) return fail(draft.error());
    std::error_code ignored;
    const fs::path whole = fs::absolute(folder, ignored).lexically_normal();
    draft->config.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
    auto mapped = mapFolder(folder);
    if (!mapped) return fail(mapped.error());
    draft->config.format = mapped->format;
    auto bound = bindTensors(std::move(*draft), mapped->tensors, Naming::HuggingFace, folder);
    if (!bound) return fail(bound.error());
    return std::make_shared<MappedWeights>(std::move(*bound), std::move(mapped->files),
                                           [folder] { return text::readTokenizerFiles(folder); });
}

Opened openGguf(const fs::path& path) {
    auto mapped = mapGguf(path);
    if (!mapped) return fail(mapped.error());
    GgufFile& gguf = mapped->gguf;
    auto draft = readGgufConfig(gguf, path);
    if (!draft) return fail(draft.error());
    if (auto checked = checkGgufVocabulary(gguf, path); !checked) return fail(checked.error());
    auto bound = bindTensors(std::move(*draft), gguf.tensors, Naming::Gguf, path);
    if (!bound) return fail(bound.error());
    gguf.tensors.clear();
    auto tokenizer = [gguf = std::move(gguf), path]() -> Result<text::TokenizerSpec> {
        const auto vocabulary = readGgufVocabulary(gguf, path);
        if (!vocabulary) return fail(vocabulary.error());
        auto spec = text::specFromGguf(*vocabulary);
        if (!spec && spec.error().context.empty()) spec.error().context = path.string();
        return spec;
    };
    return std::make_shared<MappedWeights>(std::move(*bound), std::move(mapped->files), std::move(tokenizer));
}

Opened open(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return refuseFile(path, "there is no such file or folder; check the path of the model");
    if (fs::is_directory(status)) return openFolder(path);
    if (path.extension() == ".gguf") return openGguf(path);
    for (const char* part : {".safetensors", ".json", ".bin"}) {
        if (path.extension() == part)
            return refuseFile(path, "this is a part of a model; give the folder that it is in");
    }
    const auto file = MappedFile::open(path);
    if (!file) return fail(file.error());
    if (file->bytes().size() >= 4 && std::memcmp(file->bytes().data(), "GGUF", 4) == 0) return openGguf(path);
    return refuseFile(path, "this is neither the folder of a Hugging Face model nor a GGUF file");
}

}  // namespace

Result<std::shared_ptr<const WeightSource>> openWeights(const std::filesystem::path& path) {
    try {
        return open(path);
    } catch (const std::bad_alloc&) {
        return fail(
            ErrorCode::OutOfMemory,
            fmt::format("'{}': out of memory while reading the model's tables; close other programs", path.string()));
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, fmt::format("'{}': the model cannot be opened", path.string()), error.what());
    }
}

}  // namespace lpes::model
