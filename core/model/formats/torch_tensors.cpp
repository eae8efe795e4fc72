#include "core/model/formats/torch_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/files.h"

namespace lpes::model {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kMaxNameBytes = 1000;

struct StorageClass {
    std::string_view name;
    std::string_view typeName;
    std::int64_t elementBytes;
    std::optional<StorageType> type;
};

constexpr StorageClass kClasses[] = {
    {"FloatStorage", "F32", 4, StorageType::F32},
    {"HalfStorage", "F16", 2, StorageType::F16},
    {"BFloat16Storage", "BF16", 2, StorageType::BF16},
    {"DoubleStorage", "F64", 8, {}},
    {"LongStorage", "I64", 8, {}},
    {"IntStorage", "I32", 4, {}},
    {"ShortStorage", "I16", 2, {}},
    {"CharStorage", "I8", 1, {}},
    {"ByteStorage", "U8", 1, {}},
    {"BoolStorage", "BOOL", 1, {}},
    {"ComplexFloatStorage", "C64", 8, {}},
    {"ComplexDoubleStorage", "C128", 16, {}},
};

/// A hostile name, fit for a message.
std::string visible(std::string_view text) {
    std::string shown(text.substr(0, 200));
    for (char& c : shown) {
        if (c < 0x20 || c > 0x7e) c = '?';
    }
    return shown;
}

bool isPrintable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

/// torch.save numbers storages ("0") or names them by their address; a key becomes part of an entry's name.
bool isKey(std::string_view text) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    });
}

class Interpreter {
  public:
    Interpreter(const Pickle& pickle, const std::filesystem::path& file) : m_pickle(pickle), m_file(file) {}

    Result<TorchStorage> storage(const PickleValue& persistent) const {
        // ('storage', class, key, device, elements), and in the older layout a view of another storage or None.
        const PickleValue& id = m_pickle.at(persistent.items.front());
        const auto part = [&](std::size_t i) -> const PickleValue& { return m_pickle.at(id.items[i]); };
        const bool described = id.kind == Kind::Tuple && (id.items.size() == 5 || id.items.size() == 6) &&
                               part(0).kind == Kind::String && part(0).text == "storage" &&
                               part(1).kind == Kind::Global && part(2).kind == Kind::String && isKey(part(2).text) &&
                               part(4).kind == Kind::Int && part(4).fits && part(4).integer >= 0;
        if (!described) return refuse("a storage is described in another way than torch.save does");
        if (id.items.size() == 6 && part(5).kind != Kind::None) {
            return refuse(
                fmt::format("storage '{}' is a view of another one, as PyTorch before 0.4 wrote it, which is not "
                            "supported; save the checkpoint again with a newer PyTorch",
                            part(2).text),
                ErrorCode::Unsupported);
        }
        const auto known = std::find_if(std::begin(kClasses), std::end(kClasses),
                                        [&](const StorageClass& each) { return each.name == part(1).name; });
        if (known == std::end(kClasses)) return refuse("a storage has no class of numbers");
        TorchStorage storage{part(2).text, known->type, known->typeName, part(4).integer, 0};
        const auto bytes = multiplied(storage.elements, known->elementBytes);
        if (!bytes) {
            return refuse(fmt::format("storage '{}' has {} elements of {}, more than can be counted", storage.key,
                                      storage.elements, known->typeName));
        }
        storage.bytes = *bytes;
        return storage;
    }

    /// The dict of tensors: the outermost one, or the one inside it.
    Result<const PickleValue*> stateDict() const {
        const PickleValue& root = m_pickle.at(m_pickle.root);
        if (root.kind != Kind::Dict) {
            return refuse(
                fmt::format("the checkpoint holds {}, where a dict of tensors is needed; save model.state_dict()",
                            pickleKindName(root.kind)));
        }
        const PickleValue* inner = nullptr;
        std::size_t found = 0;
        for (std::size_t i = 0; i < root.items.size(); i += 2) {
            const PickleValue& key = m_pickle.at(root.items[i]);
            const PickleValue& value = m_pickle.at(root.items[i + 1]);
            if (value.kind == Kind::Call) return &root;
            const bool isInner = key.kind == Kind::String && value.kind == Kind::Dict &&
                                 (key.text == "state_dict" || key.text == "model" || key.text == "module");
            if (isInner) inner = &value, ++found;
        }
        if (found == 1) return inner;
        return refuse(found == 0 ? "the checkpoint's dict holds no tensor, and no dict under 'state_dict', 'model' or "
                                   "'module'; save model.state_dict()"
                                 : "the checkpoint has more than one dict of tensors; save one model.state_dict()");
    }

    Result<StoredTensor> tensor(const PickleValue& key, const PickleValue& value,
                                const std::map<std::string_view, TorchStorage>& storages,
                                const std::map<std::string_view, std::span<const std::byte>>& bytesOf) const {
        if (key.kind != Kind::String || key.text.empty() || key.text.size() > kMaxNameBytes || !isPrintable(key.text)) {
            return refuse(fmt::format(
                "a tensor's name is {}; a text of printable ASCII is needed",
                key.kind == Kind::String ? "'" + visible(key.text) + "'" : std::string(pickleKindName(key.kind))));
        }
        StoredTensor tensor;
        tensor.name = key.text;
        tensor.file = m_file;
        tensor.typeName = fmt::format("no tensor but {}", pickleKindName(value.kind));
        const PickleValue* call = &value;
        if (isCallOf(*call, "_rebuild_parameter") && call->items.size() >= 2) call = &m_pickle.at(call->items[1]);
        if (call->kind != Kind::Call) return tensor;
        const auto argument = [&](std::size_t i) -> const PickleValue& { return m_pickle.at(call->items[i + 1]); };
        if (isCallOf(*call, "_rebuild_parameter") || call->items.size() < 5 || argument(0).kind != Kind::Persistent)
            return refuse(tensor, "is put together in another way than torch.save does");
        const auto described = storage(argument(0));
        if (!described) return fail(described.error());
        const PickleValue& offset = argument(1);
        const auto strides = numbers(argument(3));
        const auto shape = numbers(argument(2));
        if (offset.kind != Kind::Int || !offset.fits || offset.integer < 0 || !shape || !strides ||
            shape->size() != strides->size() || shape->size() > kMaxDimensions) {
            return refuse(tensor, "has an offset, sizes or strides that are no whole numbers from 0 on");
        }
        tensor.shape = *shape;
        const TorchStorage& stored = storages.at(described->key);
        return place(std::move(tensor), stored, bytesOf.at(stored.key), offset.integer, *strides);
    }

    tl::unexpected<Error> refuse(const std::string& why, ErrorCode code = ErrorCode::BadInput) const {
        return refuseFile(m_file, why, code);
    }

  private:
    tl::unexpected<Error> refuse(const StoredTensor& tensor, const std::string& why) const {
        return refuse(
            fmt::format("tensor '{}' {}; the file is damaged, fetch it again", tensor.name.substr(0, 200), why));
    }

    bool isCallOf(const PickleValue& value, std::string_view function) const {
        return value.kind == Kind::Call && m_pickle.at(value.items.front()).name == function;
    }

    std::optional<std::vector<std::int64_t>> numbers(const PickleValue& tuple) const {
        if (tuple.kind != Kind::Tuple) return std::nullopt;
        std::vector<std::int64_t> values;
        for (const std::uint32_t item : tuple.items) {
            const PickleValue& value = m_pickle.at(item);
            if (value.kind != Kind::Int || !value.fits || value.integer < 0) return std::nullopt;
            values.push_back(value.integer);
        }
        return values;
    }

    Result<StoredTensor> place(StoredTensor tensor, const TorchStorage& storage, std::span<const std::byte> bytes,
                               std::int64_t offset, const std::vector<std::int64_t>& strides) const {
        const auto outside = [&] {
            return refuse(
                tensor,
                fmt::format("of shape {} with strides {} from element {} on does not fit into storage "
                            "'{}' of {} elements",
                            shapeText(tensor.shape), shapeText(strides), offset, storage.key, storage.elements));
        };
        const auto count = elementCount(tensor.shape);
        if (!count) return outside();
        tensor.type = storage.type;
        tensor.typeName = storage.typeName;
        if (*count == 0) return tensor;
        // Strides of sizes of 1 mean nothing.
        std::int64_t expected = 1, last = offset;
        bool inOnePiece = true;
        for (std::size_t i = strides.size(); i-- > 0;) {
            if (tensor.shape[i] == 1) continue;
            inOnePiece = inOnePiece && strides[i] == expected;
            expected *= tensor.shape[i];
            const auto reach = multiplied(tensor.shape[i] - 1, strides[i]);
            if (!reach || *reach > storage.elements || last > storage.elements) return outside();
            last += *reach;
        }
        if (last >= storage.elements) return outside();
        if (!inOnePiece) {
            tensor.type.reset();
            tensor.typeName =
                fmt::format("{} with strides {} (not in one piece)", storage.typeName, shapeText(strides));
            return tensor;
        }
        const auto elementBytes = static_cast<std::size_t>(storage.bytes / storage.elements);
        tensor.bytes = bytes.subspan(static_cast<std::size_t>(offset) * elementBytes,
                                     static_cast<std::size_t>(*count) * elementBytes);
        return tensor;
    }

    const Pickle& m_pickle;
    const std::filesystem::path& m_file;
};

}  // namespace

Result<std::map<std::string_view, TorchStorage>> storagesOf(const Pickle& pickle, const std::filesystem::path& file) {
    const Interpreter interpreter(pickle, file);
    std::map<std::string_view, TorchStorage> storages;
    for (const PickleValue& value : pickle.values) {
        if (value.kind != Kind::Persistent) continue;
        const auto storage = interpreter.storage(value);
        if (!storage) return fail(storage.error());
        const auto [known, isNew] = storages.emplace(storage->key, *storage);
        if (isNew || (known->second.bytes == storage->bytes && known->second.typeName == storage->typeName)) continue;
        return interpreter.refuse(
            fmt::format("storage '{}' is described twice, with {} bytes of {} and {} of {}; the file "
                        "is damaged, fetch it again",
                        storage->key, known->second.bytes, known->second.typeName, storage->bytes, storage->typeName));
    }
    return storages;
}

Result<std::vector<StoredTensor>> tensorsOf(const Pickle& pickle,
                                            const std::map<std::string_view, TorchStorage>& storages,
                                            const std::map<std::string_view, std::span<const std::byte>>& bytesOf,
                                            const std::filesystem::path& file) {
    const Interpreter interpreter(pickle, file);
    const auto dict = interpreter.stateDict();
    if (!dict) return fail(dict.error());
    const std::vector<std::uint32_t>& items = (*dict)->items;
    std::vector<StoredTensor> tensors;
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < items.size(); i += 2) {
        auto tensor = interpreter.tensor(pickle.at(items[i]), pickle.at(items[i + 1]), storages, bytesOf);
        if (!tensor) return fail(tensor.error());
        if (!names.insert(pickle.at(items[i]).text).second)
            return interpreter.refuse(
                fmt::format("tensor '{}' stands twice; the file is damaged", visible(tensor->name)));
        tensors.push_back(std::move(*tensor));
    }
    return tensors;
}

}  // namespace lpes::model
