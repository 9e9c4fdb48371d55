#include "reports/analysis_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "reports/findings.h"
#include "reports/fold_notes.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kListed = 8;
constexpr std::size_t kMostIndented = 100;  // calls; what is further in has its depth in words

std::string dump(const Json& json) {
  return printable(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json document(Json body) {
  Json json{{"schema", "refhist/1"}};
  json.update(body);
  return json;
}

std::string numbers(const std::vector<std::uint64_t>& values, const char* between) {
  std::vector<std::string> words;
  for (const std::size_t value : values) words.push_back(std::to_string(value));
  return join(words, between);
}

std::string addresses(const SessionState& state, const std::vector<ObjectId>& objects) {
  std::string text;
  for (std::size_t i = 0; i < std::min(objects.size(), kListed); ++i)
    text += fmt::format(" {:#x}", state.history.object(objects[i]).address);
  if (objects.size() > kListed) text += fmt::format(" and {} more", objects.size() - kListed);
  return text;
}

std::string place_lines(const SessionState& state, const PlaceGrowth& growth) {
  const auto step =
      static_cast<std::ptrdiff_t>(growth.live.back()) - static_cast<std::ptrdiff_t>(growth.live.front());
  std::string text = fmt::format("{:+} {} {}: {}\n", step, state.family_name(growth.place->family),
                                 growth.place->text(), numbers(growth.live, " -> "));
  if (!growth.fresh.empty()) text += fmt::format("  new and live:{}\n", addresses(state, growth.fresh));
  return text;
}

void balance_lines(const BalanceTree::Node& node, std::size_t depth, std::string& text) {
  const std::string indent = depth <= kMostIndented
                                 ? std::string(2 * depth, ' ')
                                 : std::string(2 * kMostIndented, ' ') + fmt::format("({} deep) ", depth);
  for (const auto& [name, call] : node.calls) {
    text += fmt::format("{:>+7} {:>7} {:>7}  {}{}\n", call->sum(), call->taken, call->given, indent,
                        call->text());
    balance_lines(*call, depth + 1, text);
  }
}

Json balance_node(const BalanceTree::Node& node) {
  Json calls = Json::array();
  for (const auto& [name, call] : node.calls) calls.push_back(balance_node(*call));
  return {{"function", node.function}, {"file", node.file}, {"lines", node.lines},      {"taken", node.taken},
          {"given_back", node.given},  {"sum", node.sum()}, {"calls", std::move(calls)}};
}

std::string usage_line(const Usage& usage) {
  std::string text = fmt::format("{} live ({}), peak {} at #{}", usage.live, bytes_text(usage.live_bytes),
                                 usage.peak.objects, usage.peak.objects_at.value);
  if (usage.peak.bytes != 0)
    text += fmt::format(" and {} at #{}", bytes_text(usage.peak.bytes), usage.peak.bytes_at.value);
  return text + fmt::format(", {} born", usage.born);
}

Json usage_object(const Usage& usage) {
  return {{"born", usage.born},
          {"live", usage.live},
          {"live_bytes", usage.live_bytes},
          {"peak", usage.peak.objects},
          {"peak_at", usage.peak.objects_at.value},
          {"peak_bytes", usage.peak.bytes},
          {"peak_bytes_at", usage.peak.bytes_at.value}};
}

Json place_json(const SessionState& state, const Birthplace& place) {
  return {{"family", state.family_name(place.family)},
          {"by", place.by},
          {"function", place.frame.function},
          {"file", place.frame.file},
          {"line", place.frame.line}};
}

}  // namespace

std::string difference_report(SessionState& state, const Comparison& comparison,
                              const Difference& difference) {
  std::string text;
  for (std::size_t i = 0; i < comparison.moments.size(); ++i)
    text += fmt::format("{}{} (#{})", i == 0 ? "from " : " to ", comparison.names[i],
                        comparison.moments[i].value);
  text += "\n";
  for (const PlaceGrowth& growth : difference.places) text += place_lines(state, growth);
  for (const MoreReferences& more : difference.held)
    text += fmt::format("{} existed before and has more references: {} -> {}\n",
                        object_title(state, more.object), more.before, more.after);
  if (difference.places.empty())
    text += comparison.repeated ? "nothing has grown in every step\n"
                                : "no change in the number of objects anywhere\n";
  for (const std::string& line : caveats(state)) text += fmt::format("note: {}\n", line);
  return text;
}

std::string difference_json(SessionState& state, const Comparison& comparison, const Difference& difference) {
  Json moments = Json::array();
  for (std::size_t i = 0; i < comparison.moments.size(); ++i)
    moments.push_back({{"name", comparison.names[i]}, {"seq", comparison.moments[i].value}});
  Json places = Json::array();
  for (const PlaceGrowth& growth : difference.places) {
    Json fresh = Json::array();
    for (const ObjectId id : growth.fresh)
      fresh.push_back(fmt::format("{:#x}", state.history.object(id).address));
    Json place = place_json(state, *growth.place);
    place["live"] = growth.live;
    place["new"] = std::move(fresh);
    places.push_back(std::move(place));
  }
  Json held = Json::array();
  for (const MoreReferences& more : difference.held) {
    held.push_back({{"object", fmt::format("{:#x}", state.history.object(more.object).address)},
                    {"before", more.before},
                    {"after", more.after}});
  }
  return dump(document({{"moments", std::move(moments)},
                        {"places", std::move(places)},
                        {"more_references", std::move(held)},
                        {"notes", caveats(state)}}));
}

std::string balance_report(const SessionState& state, const BalanceTree::Node& root, std::size_t objects) {
  std::string text = fmt::format("{}: {} taken, {} given back, {:+}\n", plural(objects, "object"), root.taken,
                                 root.given, root.sum());
  if (root.calls.empty()) {
    text += "every function gives back what it takes\n";
  } else {
    text += fmt::format("{:>7} {:>7} {:>7}  {}\n", "sum", "taken", "given",
                        "(subtrees whose sum is 0 are left out)");
    balance_lines(root, 0, text);
  }
  for (const std::string& line : fold_notes(state)) text += fmt::format("note: {}\n", line);
  return text;
}

std::string balance_json(const SessionState& state, const BalanceTree::Node& root, std::size_t objects) {
  return dump(document({{"objects", objects}, {"tree", balance_node(root)}, {"notes", fold_notes(state)}}));
}

std::string usage_report(const SessionState& state, const std::vector<PlaceUsage>& places, std::size_t top) {
  std::string text;
  for (std::size_t i = 0; i < std::min(top, places.size()); ++i) {
    const PlaceUsage& entry = places[i];
    text += fmt::format("{} {}\n  {}\n", state.family_name(entry.place->family), entry.place->text(),
                        usage_line(entry.usage));
    text += fmt::format("  over time: {}\n", numbers(entry.over_time, " "));
  }
  if (places.size() > top) text += fmt::format("{} more (--top N)\n", plural(places.size() - top, "place"));
  if (text.empty()) return "no objects were seen\n";
  for (const std::string& line : fold_notes(state)) text += fmt::format("note: {}\n", line);
  return text;
}

std::string usage_json(const SessionState& state, const std::vector<PlaceUsage>& places) {
  Json list = Json::array();
  for (const PlaceUsage& entry : places) {
    Json json = place_json(state, *entry.place);
    json.update(usage_object(entry.usage));
    json["over_time"] = entry.over_time;
    list.push_back(std::move(json));
  }
  return dump(document({{"places", std::move(list)}, {"notes", fold_notes(state)}}));
}

}  // namespace refhist
