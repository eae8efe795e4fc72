#include "core/tasks/json_keys.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

namespace lpes::tasks {

namespace {

using nlohmann::json;

/// Watches a parser go by. A file may nest a million lists, so what an entry of the stack holds is little.
class KeyWatch {
  public:
    explicit KeyWatch(std::vector<std::string>& repeated) : m_repeated(repeated) {}

    void see(json::parse_event_t event, const json& parsed) {
        using Event = json::parse_event_t;
        switch (event) {
            case Event::object_start:
                m_open.push_back({0, std::make_unique<Object>()});
                break;
            case Event::array_start:
                m_open.push_back({0, nullptr});
                break;
            case Event::key:
                key(parsed.get<std::string>());
                break;
            case Event::object_end:
            case Event::array_end:
                m_open.pop_back();
                [[fallthrough]];
            case Event::value:
                if (!m_open.empty()) ++m_open.back().index;
                break;
        }
    }

  private:
    struct Object {
        std::set<std::string> keys;
        std::string key;  ///< whose value is being read
    };
    struct Open {
        std::size_t index = 0;           ///< of a list's entry that is being read
        std::unique_ptr<Object> object;  ///< null: a list
    };

    void key(std::string name) {
        Object& object = *m_open.back().object;
        const bool isNew = object.keys.insert(name).second;
        object.key = std::move(name);
        if (!isNew) m_repeated.push_back(path());
    }

    [[nodiscard]] std::string path() const {
        std::string path;
        for (const Open& open : m_open) {
            if (open.object) {
                path += (path.empty() ? "" : ".") + open.object->key;
            } else {
                path += fmt::format("[{}]", open.index);
            }
        }
        return path;
    }

    std::vector<std::string>& m_repeated;
    std::vector<Open> m_open;
};

}  // namespace

KeyedJson parseKeyedJson(const std::string& text) {
    KeyedJson parsed;
    KeyWatch watch(parsed.repeated);
    parsed.value = json::parse(text, [&watch](int, json::parse_event_t event, json& value) {
        watch.see(event, value);
        return true;
    });
    return parsed;
}

}  // namespace lpes::tasks
