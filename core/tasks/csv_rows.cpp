#include "core/tasks/csv_rows.h"

#include <csv.h>
#include <fmt/format.h>

#include <new>
#include <utility>

#include "core/tasks/text_units.h"

namespace lpes::tasks {

namespace {

/// libcsv with the rows that it has completed.
class Parser {
  public:
    explicit Parser(std::size_t maxFields) : m_maxFields(maxFields) {
        m_ready = csv_init(&m_parser, 0) == 0;
        // By itself libcsv cuts white space off unquoted fields.
        csv_set_space_func(&m_parser, [](unsigned char) { return 0; });
    }
    ~Parser() { csv_free(&m_parser); }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    bool feed(std::string_view line, std::int64_t number) {
        if (!m_inRow) m_row.line = number;
        m_number = number;
        m_inRow = m_inRow || line.find_first_not_of("\r\n") != std::string_view::npos;
        return m_ready && csv_parse(&m_parser, line.data(), line.size(), &onField, &onRow, this) == line.size();
    }
    bool finish() {
        // An open quote at the end is an error in strict mode alone, which would refuse quotes inside fields too.
        csv_set_opts(&m_parser, CSV_STRICT | CSV_STRICT_FINI);
        return csv_fini(&m_parser, &onField, &onRow, this) == 0;
    }

    [[nodiscard]] std::vector<CsvRow>& rows() { return m_rows; }
    [[nodiscard]] bool outOfMemory() const { return m_outOfMemory || !m_ready || csv_error(&m_parser) == CSV_ENOMEM; }
    /// Line of the first row that has too many fields, or 0.
    [[nodiscard]] std::int64_t tooManyLine() const { return m_tooManyLine; }
    [[nodiscard]] std::int64_t rowLine() const { return m_row.line; }

  private:
    // Nothing may be thrown through C's frames.
    static void onField(void* text, std::size_t size, void* self) {
        auto& parser = *static_cast<Parser*>(self);
        if (parser.m_row.fields.size() >= parser.m_maxFields) {
            if (parser.m_tooManyLine == 0) parser.m_tooManyLine = parser.m_row.line;
            return;
        }
        try {
            parser.m_row.fields.emplace_back(static_cast<const char*>(text), size);
        } catch (const std::bad_alloc&) {
            parser.m_outOfMemory = true;
        }
    }
    static void onRow(int, void* self) {
        auto& parser = *static_cast<Parser*>(self);
        try {
            parser.m_rows.push_back(std::move(parser.m_row));
        } catch (const std::bad_alloc&) {
            parser.m_outOfMemory = true;
        }
        parser.m_row = CsvRow{parser.m_number + 1, {}};
        parser.m_inRow = false;
    }

    mutable csv_parser m_parser{};  ///< csv_error takes no const
    std::size_t m_maxFields;
    bool m_ready = false, m_inRow = false, m_outOfMemory = false;
    std::int64_t m_number = 0, m_tooManyLine = 0;
    CsvRow m_row;
    std::vector<CsvRow> m_rows;
};

}  // namespace

Result<void> forEachCsvRow(std::string_view text, const std::string& where, std::size_t maxFields,
                           const std::function<Result<void>(CsvRow&)>& visit) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

    Parser parser(maxFields);
    std::int64_t number = 0;
    const auto handOut = [&](bool parsed) -> Result<void> {
        if (parser.outOfMemory()) {
            return fail(ErrorCode::OutOfMemory, fmt::format("not enough memory for line {} of {}", number, where));
        }
        if (parser.tooManyLine() != 0) {
            return fail(ErrorCode::BadInput, fmt::format("{}, line {}: the row has more than {} fields", where,
                                                         parser.tooManyLine(), maxFields));
        }
        if (!parsed) {
            return fail(ErrorCode::BadInput,
                        fmt::format("{}, line {}: a quoted field has no end; the file may be incomplete", where,
                                    parser.rowLine()));
        }
        for (CsvRow& row : parser.rows()) {
            if (auto visited = visit(row); !visited) return visited;
        }
        parser.rows().clear();
        return {};
    };
    while (!text.empty()) {
        ++number;
        const std::size_t newline = text.find('\n');
        const std::string_view line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
        text.remove_prefix(line.size());
        if (!isUtf8(line)) {
            return fail(ErrorCode::BadInput, fmt::format("{}, line {}: the text is not UTF-8", where, number));
        }
        if (auto done = handOut(parser.feed(line, number)); !done) return done;
    }
    return handOut(parser.finish());
}

}  // namespace lpes::tasks
