#include <fmt/format.h>

#include "core/tasks/data_file.h"
#include "core/tasks/json_record.h"
#include "core/tasks/mdqa.h"

namespace lpes::tasks {

namespace {

constexpr std::string_view kDocuments = "ctxs";

/// Takes `ctxs` apart into the gold document and the others.
Result<void> readDocuments(const JsonRecord& record, const std::string& where, MdqaItem& item) {
    const auto array = record.array(kDocuments);
    if (!array) return fail(array.error());
    std::optional<std::size_t> gold;
    for (std::size_t i = 0; i < (*array)->size(); ++i) {
        if (!(**array)[i].is_object()) return record.refuse(fmt::format("'{}[{}]' is not an object", kDocuments, i));
        const JsonRecord document(fmt::format("{} '{}[{}]':", where, kDocuments, i), (**array)[i]);
        auto title = document.text("title");
        if (!title) return fail(title.error());
        auto text = document.text("text");
        if (!text) return fail(text.error());
        const auto isGold = document.flag("isgold");
        if (!isGold) return fail(isGold.error());
        if (*isGold && gold) {
            return record.refuse(fmt::format("'{}[{}]' and '{}[{}]' both have 'isgold'; one document has the answer",
                                             kDocuments, *gold, kDocuments, i));
        }
        if (*isGold) gold = i;
        MdqaDocument read{std::move(*title), std::move(*text)};
        if (*isGold) {
            item.gold = std::move(read);
        } else {
            item.distractors.push_back(std::move(read));
        }
    }
    if (!gold) return record.refuse(fmt::format("none of '{}' has 'isgold', the document with the answer", kDocuments));
    return {};
}

Result<MdqaItem> readItem(const JsonRecord& record, const std::string& where) {
    MdqaItem item;
    auto question = record.filled("question");
    if (!question) return fail(question.error());
    auto answers = record.filledTexts("answers");
    if (!answers) return fail(answers.error());
    item.question = std::move(*question);
    item.answers = std::move(*answers);
    if (auto documents = readDocuments(record, where, item); !documents) return fail(documents.error());
    return item;
}

}  // namespace

Result<void> readMdqaItems(const std::filesystem::path& path, std::optional<int> docs,
                           std::optional<std::int64_t> limit, const std::function<Result<void>(MdqaItem&& item)>& take,
                           std::stop_token stop) {
    if (docs && *docs < 1) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 1 document, {} was asked for", *docs));
    }
    const std::string name = dataSetName(path);
    std::int64_t index = 0;
    std::size_t documentsOfFirst = 0;
    const auto takeLine = [&](const std::string& line, const std::string& where) -> Result<void> {
        const auto record = JsonRecord::parse(where, line);
        if (!record) return fail(record.error());
        auto item = readItem(*record, where);
        if (!item) return fail(item.error());
        const std::size_t documents = item->distractors.size() + 1;
        if (index == 0) documentsOfFirst = documents;
        if (documents != documentsOfFirst) {
            return record->refuse(fmt::format("'{}' has {} documents, line 1 has {}; all lines need the same number",
                                              kDocuments, documents, documentsOfFirst));
        }
        if (docs && static_cast<std::size_t>(*docs) > documents) {
            return fail(ErrorCode::Usage, fmt::format("'{}' has {} documents for a question, --docs asks for {}; "
                                                      "ask for fewer or take a file with more",
                                                      path.string(), documents, *docs));
        }
        if (docs) item->distractors.resize(static_cast<std::size_t>(*docs - 1));
        item->id = fmt::format("{}/{}", name, index++);
        return take(std::move(*item));
    };
    const auto lines = forEachLine(path, limit, takeLine, std::move(stop));
    if (!lines) return fail(lines.error());
    return {};
}

}  // namespace lpes::tasks
