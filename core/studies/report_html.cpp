#include "core/studies/report_html.h"

#include <fmt/format.h>

#include <algorithm>

namespace lpes::studies {

using nlohmann::json;

const std::string_view kReportStyle = R"(
:root{color-scheme:light dark;--ink:#1d2330;--soft:#5b6472;--line:#d7dbe2;--paper:#ffffff;--card:#f6f7f9;--good:#00664b;--bad:#a33c00;--green:#00664b;--amber:#8a5a00;--red:#b00020}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a2abb9;--line:#3a414d;--paper:#16191f;--card:#1f242c;--good:#4fd0a8;--bad:#ff9d66;--green:#4fd0a8;--amber:#f0bf4c;--red:#ff7a85}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:980px;margin:0 auto;padding:32px 20px 64px}h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}h3{font-size:16px;margin:24px 0 6px}
section{border-top:2px solid var(--line);margin-top:44px}
p{margin:6px 0}.soft{color:var(--soft)}.verdict{border-left:4px solid var(--soft);background:var(--card);padding:10px 14px;margin:18px 0}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}.searched{color:var(--red)}.warning{border-left:4px solid var(--red);color:var(--red);font-weight:600;background:var(--card);padding:10px 14px;margin:18px 0}
.light{font-weight:600;white-space:nowrap}.light::before{content:"";display:inline-block;width:.7em;height:.7em;border-radius:50%;background:currentColor;margin-right:.4em}
.light.green{color:var(--green)}.light.amber{color:var(--amber)}.light.red{color:var(--red)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:5px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}td.text,th.text{text-align:left;overflow-wrap:anywhere}
figure{margin:14px 0;background:#fff;border:1px solid var(--line);border-radius:6px;padding:8px}figure svg{display:block;width:100%;height:auto}
code{font-family:"DejaVu Sans Mono",monospace;font-size:13px;overflow-wrap:anywhere}.wide{overflow-x:auto}
)";

std::string escapeHtml(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

json memberOf(const json& object, const char* key) {
    return object.is_object() ? object.value(key, json()) : json();
}

json listIn(const json& object, const char* key) {
    json list = memberOf(object, key);
    return list.is_array() ? list : json::array();
}

std::string numberIn(const json& object, const char* key, const char* format) {
    const json value = memberOf(object, key);
    return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "–";
}

std::string textIn(const json& object, const char* key) {
    const json value = memberOf(object, key);
    if (value.is_null()) return "–";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string HtmlTable::row(const std::vector<std::string>& cells, const char* tag) const {
    std::string html = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool words = std::ranges::find(m_words, i) != m_words.end();
        html += fmt::format("<{}{}>{}</{}>", tag, words ? " class=\"text\"" : "", cells[i], tag);
    }
    return html + "</tr>\n";
}

std::string HtmlTable::html(const std::string& title) const {
    if (m_rows.empty()) return {};
    std::string out = title.empty() ? std::string() : "<h2>" + title + "</h2>\n";
    out += "<div class=\"wide\"><table><thead>" + row(m_header, "th") + "</thead><tbody>\n";
    for (const auto& cells : m_rows) out += row(cells, "td");
    return out + "</tbody></table></div>\n";
}

}  // namespace lpes::studies
