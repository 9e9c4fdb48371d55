#include "fleet/pages.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "fleet/answer_text.h"
#include "fleet/html_text.h"

namespace refhist {

const char* const kPageStyle =
    R"(:root { color-scheme: light dark; --back: #fff; --fore: #1c2024; --soft: #5c666e; --line: #d9dee2; --panel: #f5f7f8; --bad: #b3261e; --good: #1f6f3a; --link: #1f5fa2; }
@media (prefers-color-scheme: dark) { :root { --back: #15181b; --fore: #e3e7ea; --soft: #a0abb3; --line: #33393f; --panel: #1e2327; --bad: #ff8a80; --good: #7fd39a; --link: #8cc0f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 0 20px 40px; background: var(--back); color: var(--fore); font: 15px/1.45 system-ui, sans-serif; }
a { color: var(--link); } h1 { font-size: 21px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin-top: 28px; }
nav { display: flex; flex-wrap: wrap; gap: 16px; padding: 12px 0; border-bottom: 1px solid var(--line); }
pre, code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 8px; overflow-x: auto; }
pre b { color: var(--bad); }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-size: 13px; color: var(--soft); } td.what { overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
.soft { color: var(--soft); } .open { color: var(--bad); } .gone { color: var(--good); }
form { display: flex; flex-wrap: wrap; gap: 10px; margin: 14px 0; } input, select, button { font: inherit; padding: 4px 8px; border: 1px solid var(--line); border-radius: 6px; background: var(--back); color: inherit; }
svg { display: block; } svg polyline { fill: none; stroke: var(--link); stroke-width: 1.5; } svg circle { fill: var(--bad); }
)";

const char* const kPageScript = R"("use strict";
// Comfort only: rows are hidden while one types; without it, the form asks the server.
for (const input of document.querySelectorAll("input[type=search]"))
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of document.querySelectorAll("tbody tr"))
      row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  });
)";

namespace {

using Json = nlohmann::ordered_json;

std::string member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string shown(const Json& json, const char* key) { return html_text(member(json, key)); }

std::string page(const std::string& project, const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{0} - {1}</title><link rel=\"stylesheet\" "
      "href=\"/style.css\"><script src=\"/page.js\" defer></script></head>\n<body><nav><b>{1}</b><a "
      "href=\"/\">findings</a>"
      "<a href=\"/growth\">growth</a><a "
      "href=\"/runs\">runs</a></nav>\n<main><h1>{0}</h1>\n{2}</main></body></html>\n",
      html_text(title), html_text(project), body);
}

std::string table(const std::vector<const char*>& heads, const std::string& rows) {
  std::string text = "<div class=\"scroll\"><table><thead><tr>";
  for (const char* head : heads) text += fmt::format("<th scope=\"col\">{}</th>", head);
  return text + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

/// A line over values, each as high as it is against the greatest.
std::string chart(const std::vector<double>& values, int width, int height, const std::string& label) {
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values.size() < 2
                         ? width / 2.0
                         : 2 + static_cast<double>(i) * (width - 4) / static_cast<double>(values.size() - 1);
    const double y = most <= 0 ? height - 2 : height - 2 - values[i] / most * (height - 4);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
  }
  const std::string end = points.empty() ? "" : points.substr(points.rfind(' ', points.size() - 2) + 1);
  const std::size_t comma = end.find(',');
  const std::string dot = comma == std::string::npos
                              ? ""
                              : fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2\"/>", end.substr(0, comma),
                                            trim(end.substr(comma + 1)));
  return fmt::format(
      "<svg role=\"img\" aria-label=\"{0}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} "
      "{2}\"><title>{0}</title><polyline points=\"{3}\"/>{4}</svg>",
      html_text(label), width, height, points, dot);
}

std::string field(const char* name, const char* hint, const PageQuery& query) {
  const auto found = query.find(name);
  return fmt::format("<input type=\"{}\" name=\"{}\" placeholder=\"{}\" aria-label=\"{}\" value=\"{}\">",
                     std::string_view(name) == "q" ? "search" : "text", name, hint, hint,
                     found == query.end() ? "" : html_text(found->second));
}

bool matches(const Json& json, const PageQuery& query) {
  const auto found = query.find("q");
  if (found == query.end()) return true;
  const auto low = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
      return c < 128 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
    });
    return text;
  };
  const std::string text = low(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const std::string& word : split(found->second, ' ')) {
    if (text.find(low(word)) == std::string::npos) return false;
  }
  return true;
}

std::string course_rows(const Json& course) {
  std::string rows;
  for (auto point = course.rbegin(); point != course.rend(); ++point)
    rows += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{} of {}</td><td>{}</td></tr>\n",
        html_text(short_commit(member(*point, "commit"))), short_time(shown(*point, "first_at")),
        shown(*point, "branch"), shown(*point, "name"), shown(*point, "runs_with"), shown(*point, "runs"),
        shown(*point, "most_alike"));
  return rows;
}

std::string sources(const Json& detail) {
  std::string text;
  if (!detail.contains("sources") || !detail["sources"].is_array()) return text;
  for (const Json& source : detail["sources"]) {
    text += fmt::format("<h3>{}</h3><pre>", shown(source, "file"));
    int number = source.value("first", 1);
    const int marked = source.value("line", 0);
    for (const Json& line : source.value("lines", Json::array())) {
      const std::string row =
          fmt::format("{:>5}  {}", number, html_text(line.is_string() ? line.get<std::string>() : ""));
      text += number++ == marked ? "<b>" + row + "</b>\n" : row + "\n";
    }
    text += "</pre>\n";
  }
  return text;
}

std::string story(const Json& detail) {
  const Json example = detail.value("example", Json::object());
  std::string text = fmt::format("<p>{}</p>", shown(example, "object"));
  for (const Json& event : example.value("events", Json::array())) {
    text += fmt::format("<details><summary><code>{}</code></summary><pre>", shown(event, "line"));
    for (const Json& frame : event.value("stack", Json::array()))
      text += html_text(frame.is_string() ? frame.get<std::string>() : "") + "\n";
    text += "</pre></details>\n";
  }
  if (const std::string left = member(example, "events_not_listed"); !left.empty() && left != "0")
    text += fmt::format("<p class=\"soft\">{} events are not listed.</p>\n", html_text(left));
  return text;
}

}  // namespace

std::string findings_page(const Json& answer, const PageQuery& query) {
  std::string rows;
  for (const Json& finding : answer.at("findings")) {
    if (!matches(finding, query)) continue;
    std::vector<double> rates;
    for (const Json& part : finding.value("course", Json::array())) rates.push_back(part.get<double>());
    const std::string state = member(finding, "state");
    rows += fmt::format(
        "<tr><td class=\"what\"><a href=\"/finding/{0}\">{1}</a><br><span class=\"soft\">{2}</span></td><td "
        "class=\"{3}\">{3}{4}</td><td>{5}</td><td>{6} of "
        "{7}</td><td>{8}</td><td>{9}</td><td>{10}</td></tr>\n",
        shown(finding, "fingerprint"), shown(finding, "title"), shown(finding, "place"), html_text(state),
        finding.at("flaky").get<bool>() ? ", flaky" : "",
        chart(rates, 120, 24, "part of the runs that show it, by commit"), shown(finding, "runs_with"),
        shown(finding, "runs"), short_time(shown(finding, "first_seen")),
        short_time(shown(finding, "last_seen")),
        html_text(join(finding.at("branches").get<std::vector<std::string>>(), ", ")));
  }
  const auto all = query.find("all");
  const std::string form = fmt::format(
      "<form method=\"get\">{}{}<label><input type=\"checkbox\" name=\"all\" value=\"1\"{}> accepted and "
      "gone, too</label><button>filter</button></form>\n",
      field("q", "function, file, family", query), field("branch", "branch", query),
      all == query.end() ? "" : " checked");
  const Json& numbers = answer.at("numbers");
  const std::string line =
      fmt::format("<p>{} open, {} accepted, {} gone in {} runs</p>\n", numbers.at("open").dump(),
                  numbers.at("accepted").dump(), numbers.at("gone").dump(), answer.at("runs").dump());
  return page(member(answer, "project"), "Findings",
              line + form +
                  table({"what", "state", "course", "in runs", "first seen", "last seen", "branches"}, rows));
}

std::string finding_page(const Json& answer, const Json& since) {
  const Json& finding = answer.at("finding");
  const Json& detail = finding.at("detail");
  std::string body = "<pre>";
  for (const Json& line : detail.value("lines", Json::array()))
    body += html_text(line.is_string() ? line.get<std::string>() : "") + "\n";
  body += "</pre>\n";
  for (const Json& judgement : finding.at("judgements"))
    body += fmt::format("<p>{} by {} on {}: {}</p>\n",
                        judgement.at("accepted").get<bool>() ? "accepted" : "reopened",
                        shown(judgement, "by"), short_time(shown(judgement, "at")), shown(judgement, "why"));
  if (!since.is_null()) body += "<h2>Since when</h2><pre>" + html_text(since_text(since)) + "</pre>\n";
  std::vector<double> rates;
  for (const Json& point : finding.at("course"))
    rates.push_back(point.at("runs_with").get<double>() / point.at("runs").get<double>());
  body += "<h2>Course</h2>\n" + chart(rates, 600, 60, "part of the runs that show it, by commit") +
          table({"commit", "first run", "branch", "name", "with it", "objects at most"},
                course_rows(finding.at("course")));
  body += "<h2>Sources</h2>\n" + sources(detail) + "<h2>One object's story</h2>\n" + story(detail);
  return page(member(answer, "project"), member(finding, "title"), body);
}

std::string growth_page(const Json& answer) {
  std::string rows;
  for (const Json& place : answer.at("places")) {
    const auto cell = [&](const char* rise, const char* values) {
      if (place.at(rise).is_null()) return std::string("<td></td>");
      return fmt::format("<td>{}{:+.3g} a commit</td>",
                         chart(place.at(values).get<std::vector<double>>(), 160, 30, values),
                         place.at(rise).at("slope").get<double>());
    };
    rows += fmt::format("<tr><td>{}</td><td class=\"what\">{} born in {} ({}) by {}</td>{}{}</tr>\n",
                        shown(place, "name"), shown(place, "family"), shown(place, "function"),
                        shown(place, "file"), shown(place, "by"), cell("live_rises", "live"),
                        cell("bytes_rise", "bytes"));
  }
  return page(member(answer, "project"), "Growth",
              fmt::format("<p>Birthplaces of which more is alive at the end from commit to commit; branch "
                          "{}, the last {} commits of each run name.</p>\n",
                          shown(answer, "branch"), shown(answer, "commits")) +
                  table({"run name", "birthplace", "objects", "bytes"}, rows));
}

std::string runs_page(const Json& answer, const PageQuery& query) {
  std::string rows;
  for (const Json& run : answer.at("runs")) {
    if (!matches(run, query)) continue;
    rows += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</"
        "td><td>{}</td><td>{}</td></tr>\n",
        html_text(member(run, "run").substr(0, 8)), short_time(shown(run, "started_at")),
        shown(run, "branch"), html_text(short_commit(member(run, "commit"))), shown(run, "name"),
        shown(run, "host"), shown(run, "findings"),
        member(run, "failed").empty()
            ? (run.at("exit_status").is_null() ? "signal " + shown(run, "signal")
                                               : "exit " + shown(run, "exit_status"))
            : "failed: " + shown(run, "failed"));
  }
  return page(member(answer, "project"), "Runs",
              fmt::format("<form method=\"get\">{}{}<button>filter</button></form>\n",
                          field("q", "anything in a run", query), field("branch", "branch", query)) +
                  table({"run", "started", "branch", "commit", "name", "host", "findings", "end"}, rows));
}

std::string error_page(const std::string& project, const std::string& what) {
  return page(project, "No answer", "<p>" + html_text(what) + "</p>\n");
}

}  // namespace refhist
