#include "fleet/answer_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kListedCommits = 12;

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::string words_of(const Json& array) {
  constexpr std::size_t kNamed = 3;
  return some_of(array.get<std::vector<std::string>>(), kNamed);
}

/// Rows of cells, each column as wide as it must be; the last one is not filled up. Cells are ASCII but for
/// the last.
std::string table_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line + "\n";
  }
  return text;
}

std::string of_runs(const Json& with, const Json& runs) {
  return fmt::format("{} of {}", with.get<std::int64_t>(), runs.get<std::int64_t>());
}

std::string state_words(const Json& finding) {
  const std::string state = text_of(finding, "state");
  if (state == "accepted") {
    const std::string why = text_of(finding, "why");
    return fmt::format("accepted by {}{}", text_of(finding, "judged_by"), why.empty() ? "" : ": " + why);
  }
  if (state == "gone")
    return fmt::format("gone: not in the last {}", plural(finding.at("clean_since"), "run"));
  return finding.at("flaky").get<bool>() ? "open, flaky" : "open";
}

std::string commit_line(const Json& commit) {
  return fmt::format("{}  {}  {} runs", short_commit(text_of(commit, "commit")),
                     short_time(text_of(commit, "first_at")),
                     of_runs(commit.at("runs_with"), commit.at("runs")));
}

/// Nothing is sure.
std::string confidence_words(double part) {
  return part > 0.999 ? "more than 99.9%" : fmt::format("{:.1f}%", std::floor(part * 1000) / 10);
}

/// Findings of one birthplace differ by where to look.
std::string what_words(const Json& finding) {
  const std::string title = text_of(finding, "title");
  const std::string place = text_of(finding, "place");
  return place.empty() || title.find(place) != std::string::npos ? title
                                                                 : fmt::format("{}, see {}", title, place);
}

std::string percent(double part) {
  const double shown = part >= 1 ? 100 : std::min(std::floor(part * 1000) / 10, 99.9);
  return shown == std::floor(shown) ? fmt::format("{:.0f}%", shown) : fmt::format("{:.1f}%", shown);
}

std::string course_text(const Json& course) {
  std::vector<double> rates;
  std::vector<std::vector<std::string>> rows = {
      {"commit", "first run", "branch", "name", "with it", "objects at most"}};
  for (const Json& point : course)
    rates.push_back(point.at("runs_with").get<double>() / point.at("runs").get<double>());
  for (std::size_t i = course.size() > kListedCommits ? course.size() - kListedCommits : 0; i < course.size();
       ++i) {
    const Json& point = course[i];
    rows.push_back({short_commit(text_of(point, "commit")), short_time(text_of(point, "first_at")),
                    text_of(point, "branch"), text_of(point, "name"),
                    of_runs(point.at("runs_with"), point.at("runs")),
                    std::to_string(point.at("most_alike").get<std::int64_t>())});
  }
  return fmt::format("part of the runs that show it, commit by commit: {}\n{}", sparkline(rates),
                     table_of(rows));
}

std::string place_words(const Json& place) {
  const std::string function = text_of(place, "function");
  const std::string file = text_of(place, "file");
  return fmt::format("{} born in {}{}{}", text_of(place, "family"), function.empty() ? "(unseen)" : function,
                     file.empty() ? "" : " (" + file + ")",
                     text_of(place, "by").empty() ? "" : " by " + text_of(place, "by"));
}

std::string rise_words(const Json& rise, const char* what) {
  return fmt::format("{:+.3g} {} a commit ({:.6g} -> {:.6g}, chance {:.1g})", rise.at("slope").get<double>(),
                     what, rise.at("from").get<double>(), rise.at("to").get<double>(),
                     rise.at("chance").get<double>());
}

std::string end_words(const Json& run) {
  if (!text_of(run, "failed").empty()) return "failed: " + text_of(run, "failed");
  if (run.at("signal").is_number()) return fmt::format("signal {}", run.at("signal").get<int>());
  return run.at("exit_status").is_number() ? fmt::format("exit {}", run.at("exit_status").get<int>())
                                           : "end not seen";
}

std::vector<std::string> run_row(const Json& run) {
  return {text_of(run, "run").substr(0, 8),
          short_time(text_of(run, "started_at")),
          text_of(run, "branch"),
          short_commit(text_of(run, "commit")),
          text_of(run, "name"),
          text_of(run, "host"),
          std::to_string(run.at("findings").get<std::int64_t>()),
          run.at("history_bytes").get<std::int64_t>() == 0
              ? "-"
              : bytes_text(run.at("history_bytes").get<std::uint64_t>()),
          end_words(run)};
}

const std::vector<std::string> kRunHeads = {"run",  "started",  "branch",  "commit", "name",
                                            "host", "findings", "history", "end"};

}  // namespace

std::string short_time(const std::string& time) {
  return time.size() < 16 ? time : time.substr(0, 10) + " " + time.substr(11, 5);
}

std::string short_commit(const std::string& commit) {
  constexpr std::size_t kDigits = 12;
  return commit.empty() ? "(no commit)" : commit.substr(0, kDigits);
}

std::string sparkline(const std::vector<double>& values) {
  constexpr std::array<const char*, 9> kBlocks = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::string line;
  for (const double value : values)
    line += kBlocks[value <= 0 || most <= 0 ? 0 : static_cast<std::size_t>(std::ceil(value / most * 8))];
  return line;
}

std::string findings_text(const Json& answer) {
  const Json& numbers = answer.at("numbers");
  std::vector<std::vector<std::string>> rows;
  for (const Json& finding : answer.at("findings")) {
    rows.push_back({text_of(finding, "fingerprint"),
                    of_runs(finding.at("runs_with"), finding.at("runs")) + " runs",
                    short_time(text_of(finding, "first_seen")), short_time(text_of(finding, "last_seen")),
                    words_of(finding.at("branches")),
                    fmt::format("{} [{}]", what_words(finding), state_words(finding))});
  }
  if (!rows.empty())
    rows.insert(rows.begin(), {"fingerprint", "in", "first seen", "last seen", "branches", "what"});
  std::string text = table_of(rows);
  text += fmt::format("{} open, {} accepted, {} gone in {} of {}{}\n", numbers.at("open").get<int>(),
                      numbers.at("accepted").get<int>(), numbers.at("gone").get<int>(),
                      plural(answer.at("runs").get<std::size_t>(), "run"), text_of(answer, "project"),
                      answer.at("branch").is_null() ? "" : ", branch " + text_of(answer, "branch"));
  const std::size_t shown =
      static_cast<std::size_t>(std::count_if(answer.at("findings").begin(), answer.at("findings").end(),
                                             [](const Json& one) { return one.at("state") == "open"; }));
  if (const auto open = numbers.at("open").get<std::size_t>(); shown < open)
    text += fmt::format("note: the newest {} are shown (--last N)\n", shown);
  if (const int left = answer.at("not_counted_yet").get<int>(); left != 0)
    text += fmt::format("note: {} not counted yet: the next send does that\n",
                        plural(static_cast<std::size_t>(left), "run"));
  return text;
}

std::string show_text(const Json& answer) {
  const Json& finding = answer.at("finding");
  const Json& detail = finding.at("detail");
  std::string text = fmt::format("{} [{}]\n", text_of(finding, "title"), text_of(finding, "fingerprint"));
  if (detail.contains("lines") && detail["lines"].is_array()) {
    for (const Json& line : detail["lines"]) text += line.is_string() ? line.get<std::string>() + "\n" : "";
  }
  for (const Json& judgement : finding.at("judgements"))
    text += fmt::format(
        "{} by {} on {}: {}\n", judgement.at("accepted").get<bool>() ? "accepted" : "reopened",
        text_of(judgement, "by"), short_time(text_of(judgement, "at")), text_of(judgement, "why"));
  return text + course_text(finding.at("course"));
}

std::string since_text(const Json& answer) {
  std::string text = fmt::format("first commit that has it:  {}\n", commit_line(answer.at("first")));
  if (answer.at("last_not").is_null()) {
    text += "last without it:           none: no earlier commit of this branch has runs\n";
  } else {
    text += fmt::format("last without it:           {}\n", commit_line(answer.at("last_not")));
    const auto needed = answer.at("runs_needed").get<std::uint64_t>();
    text += fmt::format(
        "it shows in {} of the runs: {} before the first show with {} confidence that {} did not have it\n",
        percent(answer.at("rate")), plural(answer.at("clean_before"), "clean run"),
        confidence_words(answer.at("confidence")), short_commit(text_of(answer.at("last_not"), "commit")));
    if (!answer.at("surely_not").is_null()) {
      text += fmt::format("with 95% confidence it came in after {}\n",
                          short_commit(text_of(answer.at("surely_not"), "commit")));
    } else {
      text +=
          fmt::format("95% takes {}: run {} more at commits before the first one\n",
                      plural(needed, "clean run"), needed - answer.at("clean_before").get<std::uint64_t>());
    }
  }
  const auto since = answer.at("clean_since").get<std::uint64_t>();
  if (since == 0) return text + "the last commit with runs has it\n";
  const auto needed = answer.at("runs_needed").get<std::uint64_t>();
  return text + fmt::format("last seen in {}; {} since{}\n",
                            short_commit(text_of(answer.at("last"), "commit")), plural(since, "clean run"),
                            since >= needed
                                ? ": it is gone, with at least 95% confidence"
                                : fmt::format(": {} more would show with 95% confidence that it is gone",
                                              needed - since));
}

std::string growth_text(const Json& answer) {
  std::string text;
  for (const Json& place : answer.at("places")) {
    text += fmt::format("{}: {}\n", text_of(place, "name"), place_words(place));
    for (const auto& [rise, values, what] :
         {std::tuple("live_rises", "live", "objects"), std::tuple("bytes_rise", "bytes", "bytes")}) {
      if (place.at(rise).is_null()) continue;
      text += fmt::format("  {}  {}\n", sparkline(place.at(values).get<std::vector<double>>()),
                          rise_words(place.at(rise), what));
    }
  }
  return text + fmt::format("{} {}, branch {}, the last {} commits of each run name (at least {})\n",
                            answer.at("places").empty()
                                ? "nothing rises:"
                                : plural(answer.at("places").size(), "place") + " with a rise:",
                            text_of(answer, "project"), text_of(answer, "branch"),
                            answer.at("commits").get<int>(), answer.at("fewest_commits").get<int>());
}

std::string runs_text(const Json& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& run : answer.at("runs")) rows.push_back(run_row(run));
  if (rows.empty()) return fmt::format("no runs of {}\n", text_of(answer, "project"));
  rows.insert(rows.begin(), kRunHeads);
  return table_of(rows);
}

std::string compare_text(const Json& answer) {
  std::string text = table_of({kRunHeads, run_row(answer.at("runs")[0]), run_row(answer.at("runs")[1])});
  std::size_t same = 0;
  for (const Json& finding : answer.at("findings")) {
    const std::string in = text_of(finding, "in");
    if (in == "both") ++same;
    if (in != "both")
      text +=
          fmt::format("only in the {}: {} [{}]\n", in, what_words(finding), text_of(finding, "fingerprint"));
  }
  text += fmt::format("{} in both\n", plural(same, "finding"));
  for (const Json& place : answer.at("places"))
    text += fmt::format("alive at the end: {} -> {} ({} -> {} bytes): {}\n",
                        place.at("live")[0].get<std::int64_t>(), place.at("live")[1].get<std::int64_t>(),
                        place.at("bytes")[0].get<std::int64_t>(), place.at("bytes")[1].get<std::int64_t>(),
                        place_words(place));
  return text;
}

}  // namespace refhist
