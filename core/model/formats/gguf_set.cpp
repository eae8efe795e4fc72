#include "core/model/formats/gguf_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace lpes::model {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMaxFiles = 65535;  // split.count is a UINT16
constexpr std::size_t kListed = 10;

struct Part {
    MappedFile file;
    GgufFile gguf;
};

Result<Part> openPart(const fs::path& path) {
    auto file = MappedFile::open(path);
    if (!file) return fail(file.error());
    auto gguf = readGguf(file->bytes(), path);
    if (!gguf) return fail(gguf.error());
    return Part{std::move(*file), std::move(*gguf)};
}

/// A whole number of the metadata within 0 … high; empty when the key is absent.
Result<std::optional<std::int64_t>> number(const Part& part, const char* key, std::int64_t high) {
    const auto found = part.gguf.values.find(key);
    if (found == part.gguf.values.end()) return std::optional<std::int64_t>();
    const auto value = found->second.integer();
    if (!value || *value < 0 || *value > high) {
        return refuseFile(part.file.path(), fmt::format("key '{}' is {}; a whole number from 0 to {} is needed", key,
                                                        found->second.shown(), high));
    }
    return value;
}

class Set {
  public:
    Set(const fs::path& path, std::int64_t count) : m_path(path), m_count(count) {}

    Result<MappedGguf> open(Part given) {
        const auto own = number(given, "split.no", kMaxFiles - 1);
        if (!own) return fail(own.error());
        if (!*own || **own >= m_count) {
            return refuseFile(m_path, fmt::format("key 'split.no' is {}; a file of a set of {} has one from 0 to {}",
                                                  *own ? fmt::format("{}", **own) : "missing", m_count, m_count - 1));
        }
        if (auto named = readStem(**own); !named) return fail(named.error());
        if (auto there = checkAllThere(); !there) return fail(there.error());
        for (std::int64_t i = 0; i < m_count; ++i) {
            auto part = i == **own ? Result<Part>(std::move(given)) : openPart(nameOf(i));
            if (!part) return fail(part.error());
            if (auto added = add(std::move(*part), i); !added) return fail(added.error());
        }
        const auto total = static_cast<std::int64_t>(m_result.gguf.tensors.size());
        if (m_tensors && *m_tensors != total) {
            return refuseFile(m_path,
                              fmt::format("the {} files of the set hold {} tensors, but split.tensors.count is {}; "
                                          "fetch the set again",
                                          m_count, total, *m_tensors));
        }
        return std::move(m_result);
    }

  private:
    fs::path nameOf(std::int64_t index) const {
        return m_path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", m_stem, index + 1, m_count);
    }

    /// The part of the name that all files share.
    Result<void> readStem(std::int64_t index) {
        const std::string name = m_path.filename().string();
        const std::string ending = fmt::format("-{:05}-of-{:05}.gguf", index + 1, m_count);
        if (name.size() <= ending.size() || !name.ends_with(ending)) {
            return refuseFile(m_path,
                              fmt::format("this is file {} of a set of {}, whose name has to end in '{}' so that the "
                                          "others can be found; give it its name back",
                                          index + 1, m_count, ending));
        }
        m_stem = name.substr(0, name.size() - ending.size());
        return {};
    }

    Result<void> checkAllThere() const {
        std::vector<std::string> missing;
        std::size_t total = 0;
        for (std::int64_t i = 0; i < m_count; ++i) {
            std::error_code ignored;
            if (fs::exists(nameOf(i), ignored)) continue;
            if (++total <= kListed) missing.push_back(nameOf(i).filename().string());
        }
        if (total == 0) return {};
        return refuseFile(
            m_path, fmt::format("{} of the set's {} files are missing in the folder ({}{}); fetch them", total, m_count,
                                fmt::join(missing, ", "), total > kListed ? ", ..." : ""));
    }

    Result<void> add(Part part, std::int64_t index) {
        const fs::path& file = part.file.path();
        for (const auto& [key, expected] : {std::pair{"split.count", m_count}, std::pair{"split.no", index}}) {
            const auto value = number(part, key, kMaxFiles);
            if (!value) return fail(value.error());
            if (*value == expected) continue;
            return refuseFile(file,
                              fmt::format("key '{}' is {}, where {} is expected: the file is of another set, so fetch "
                                          "it again",
                                          key, *value ? fmt::format("{}", **value) : "missing", expected));
        }
        const auto tensors = number(part, "split.tensors.count", std::int64_t{1} << 32);
        if (!tensors) return fail(tensors.error());
        if (m_tensors && *tensors && *tensors != m_tensors) {
            return refuseFile(file, fmt::format("key 'split.tensors.count' is {}, but {} in another file of the set",
                                                **tensors, *m_tensors));
        }
        if (*tensors) m_tensors = *tensors;
        for (StoredTensor& tensor : part.gguf.tensors) {
            const auto [other, isNew] = m_fileOf.emplace(tensor.name, m_result.files.size());
            if (!isNew) {
                return refuseFile(file, fmt::format("tensor '{}' also stands in '{}'; fetch the set again", tensor.name,
                                                    m_result.files[other->second].path().filename().string()));
            }
        }
        if (index == 0) {
            m_result.gguf = std::move(part.gguf);
        } else {
            GgufFile& all = m_result.gguf;
            all.tensors.insert(all.tensors.end(), std::make_move_iterator(part.gguf.tensors.begin()),
                               std::make_move_iterator(part.gguf.tensors.end()));
            all.trailingBytes += part.gguf.trailingBytes;
        }
        m_result.files.push_back(std::move(part.file));
        return {};
    }

    const fs::path& m_path;
    std::int64_t m_count;
    std::string m_stem;
    std::optional<std::int64_t> m_tensors;
    std::map<std::string, std::size_t> m_fileOf;
    MappedGguf m_result;
};

}  // namespace

Result<MappedGguf> mapGguf(const fs::path& path) {
    auto part = openPart(path);
    if (!part) return fail(part.error());
    const auto count = number(*part, "split.count", kMaxFiles);
    if (!count) return fail(count.error());
    if (count->value_or(1) > 1) return Set(path, **count).open(std::move(*part));
    MappedGguf single;
    single.gguf = std::move(part->gguf);
    single.files.push_back(std::move(part->file));
    return single;
}

}  // namespace lpes::model
