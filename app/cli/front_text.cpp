// A Pareto front in words: what can be picked, and how.

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

using nlohmann::json;

std::string frontText(const json& result) {
    const json front = result.value("front", json::array());
    if (front.empty()) return {};
    std::vector<std::string> names, header{"#"};
    for (const char* name : {"middle", "ends", "short"}) {
        if (front.front().at("objectives").contains(name)) names.emplace_back(name);
    }
    for (const std::string& name : names) header.push_back(name == "short" ? "short-context perplexity" : name);
    header.emplace_back("fitness");
    for (const std::string& name : names) {
        if (name != "short") header.push_back("held out: " + name);
    }
    for (const char* column : {"NLL against baseline [95 %]", "p, Holm", ""}) header.emplace_back(column);
    Table table(header);
    bool asked = false, tested = false;
    for (const json& member : front) {
        std::vector<std::string> cells{member.at("number").dump()};
        for (const std::string& name : names) {
            cells.push_back(formatNumber(name == "short" ? member.at("perplexity") : member.at("objectives").at(name),
                                         name == "short" ? 3 : 4));
        }
        cells.push_back(formatNumber(member.at("fitness"), 4));
        const json heldout = member.value("heldout", json());
        const bool known = heldout.is_object();
        for (const std::string& name : names) {
            if (name != "short") cells.push_back(known ? formatNumber(heldout.at("objectives").at(name), 4) : "–");
        }
        cells.push_back(known ? formatEstimate(heldout.at("nll_difference"), heldout.at("nll_difference_low"),
                                               heldout.at("nll_difference_high"), 3)
                              : "–");
        cells.push_back(formatP(known ? heldout.at("p_holm") : json()));
        asked = asked || known;
        tested = tested || (known && heldout.at("p_holm").is_number());
        cells.emplace_back(member.value("picked", false) ? "picked" : "");
        table.add(std::move(cells));
    }
    return fmt::format(
               "\nPareto front, {} of them; objectives on the search items, best first in the first of them:\n{}",
               front.size(), table.text()) +
           (result.value("state", "") == "finished"
                ? fmt::format("Another one: lpes export run:{} --pick N --to json --out profile.json\n",
                              result.at("run_id").dump())
                : "");
}

}  // namespace lpes::cli
