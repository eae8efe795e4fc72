#pragma once

#include <map>
#include <string>

#include "core/base/result.h"
#include "core/store/store.h"

namespace lpes::studies {

/// One self-contained HTML page about a run: what was asked, verdict, the methods of a comparison, accuracy by position
/// with intervals, plots, generations, settings with their origins, versions. `svgByKind`: plot kind → SVG text, drawn
/// by lpes-render; a kind without a picture is named as missing. No script, no outside reference.
[[nodiscard]] Result<std::string> reportHtml(store::StoreReader& store, const store::RunRow& run,
                                             const std::map<std::string, std::string>& svgByKind);

}  // namespace lpes::studies
