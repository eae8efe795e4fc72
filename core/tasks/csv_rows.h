#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

struct CsvRow {
    std::int64_t line = 0;  ///< on which the row begins, from 1
    std::vector<std::string> fields;
};

/// Hands out the rows of a CSV text (RFC 4180: quoted fields may hold commas, line breaks and doubled quotes) one after
/// the other. Fields are as they stand: white space is kept, and a quote inside an unquoted field is a character, as
/// Python's csv module has it. Empty lines are skipped, a byte order mark ahead of the first field is dropped. Ends at
/// the first error of `visit`. BadInput, with `where` ("'file'") and line, for text that is not UTF-8, a quoted field
/// without an end and a row of more than `maxFields` fields.
[[nodiscard]] Result<void> forEachCsvRow(std::string_view text, const std::string& where, std::size_t maxFields,
                                         const std::function<Result<void>(CsvRow&)>& visit);

}  // namespace lpes::tasks
