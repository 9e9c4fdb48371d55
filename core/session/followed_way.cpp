#include "session/followed_way.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/short_name.h"
#include "base/source_lines.h"
#include "base/text.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kEnds{"unknown", "returned", "unwound", "running"};

Json count_json(const Count& count) { return count ? Json(*count) : Json(nullptr); }

Count count_of(const Json& json) { return json.is_null() ? Count() : Count(json.get<std::int64_t>()); }

Json step_json(const FollowedStep& step) {
  Json events = Json::array();
  for (const FollowedEvent& event : step.events)
    events.push_back({{"role", role_name(event.role)},
                      {"count_before", count_json(event.before)},
                      {"count_after", count_json(event.after)}});
  Json json{{"function", step.function},
            {"file", step.file},
            {"line", step.line},
            {"in_hand", step.in_hand ? Json(*step.in_hand) : Json(nullptr)},
            {"events", std::move(events)}};
  if (step.frame != 0) json["frame"] = step.frame;
  if (step.pc != 0) json["pc"] = step.pc;
  if (!step.reaches.empty()) json["reaches"] = step.reaches;
  return json;
}

FollowedStep step_of(const Json& json) {
  FollowedStep step{json.at("function").get<std::string>(),
                    json.at("file").get<std::string>(),
                    json.at("line").get<unsigned>(),
                    {},
                    {}};
  if (const Json& in_hand = json.at("in_hand"); !in_hand.is_null()) step.in_hand = in_hand.get<bool>();
  step.frame = json.value("frame", Address{0});
  step.pc = json.value("pc", Address{0});
  if (json.contains("reaches")) step.reaches = json.at("reaches").get<std::map<Address, std::uint64_t>>();
  for (const Json& event : json.at("events")) {
    const auto role = role_from_name(event.at("role").get<std::string>());
    if (!role) fail("a step has an unknown role");
    step.events.push_back({*role, count_of(event.at("count_before")), count_of(event.at("count_after"))});
  }
  return step;
}

Json use_json(const LastUse& use) {
  Json calls = Json::array();
  for (const FollowedStep& call : use.calls) calls.push_back(step_json(call));
  return {
      {"step", use.step}, {"calls", std::move(calls)}, {"variables", use.variables}, {"lines", use.lines}};
}

LastUse use_of(const Json& json) {
  LastUse use;
  use.step = json.at("step").get<std::size_t>();
  for (const Json& call : json.at("calls")) use.calls.push_back(step_of(call));
  use.variables = json.at("variables").get<std::set<std::string>>();
  use.lines = json.at("lines").get<std::set<unsigned>>();
  return use;
}

}  // namespace

FollowedStep step_of(const NamedFrame& frame) {
  FollowedStep step;
  step.function = frame.function;
  step.file = frame.file;
  step.line = frame.line;
  return step;
}

NamedFrame frame_of(const FollowedStep& step) {
  NamedFrame frame;
  frame.function = step.function;
  frame.file = step.file;
  frame.line = step.line;
  return frame;
}

bool FollowedStep::gives_back() const {
  return std::any_of(events.begin(), events.end(),
                     [](const FollowedEvent& event) { return event.role == Role::put; });
}

bool FollowedWay::gives_back() const {
  return std::any_of(steps.begin(), steps.end(), std::mem_fn(&FollowedStep::gives_back));
}

std::string FollowedWay::json() const {
  Json all = Json::array();
  for (const FollowedStep& step : steps) all.push_back(step_json(step));
  Json held = Json::array();
  for (const NewHolder& holder : holders)
    held.push_back({{"at", holder.at},
                    {"where", holder.where},
                    {"block", {{"begin", holder.block.begin}, {"end", holder.block.end}}}});
  const Json way{{"schema", "refhist-follow/1"},
                 {"object", object},
                 {"function", function},
                 {"end", kEnds[static_cast<std::size_t>(end)]},
                 {"why_not", why_not},
                 {"kept_in", kept_in},
                 {"loaded_from", loaded_from},
                 {"is_result", is_result},
                 {"replaced", replaced ? Json(*replaced) : Json(nullptr)},
                 {"last_use", last_use ? use_json(*last_use) : Json(nullptr)},
                 {"freed", freed},
                 {"holders_known", holders_known},
                 {"events", events},
                 {"sum", sum},
                 {"holders", std::move(held)},
                 {"steps", std::move(all)}};
  return way.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

FollowedWay FollowedWay::of_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    FollowedWay way;
    way.object = json.at("object").get<Address>();
    way.function = json.at("function").get<std::string>();
    way.why_not = json.at("why_not").get<std::string>();
    const auto found = std::find(kEnds.begin(), kEnds.end(), json.at("end").get<std::string>());
    if (found != kEnds.end()) way.end = static_cast<End>(found - kEnds.begin());
    way.kept_in = json.at("kept_in").get<std::string>();
    way.loaded_from = json.value("loaded_from", Address{0});
    way.is_result = json.value("is_result", false);
    if (const Json& step = json.at("replaced"); !step.is_null()) way.replaced = step.get<std::size_t>();
    if (const Json& step = json.at("last_use"); !step.is_null()) way.last_use = use_of(step);
    way.freed = json.at("freed").get<bool>();
    way.holders_known = json.at("holders_known").get<bool>();
    way.events = json.at("events").get<std::int64_t>();
    way.sum = json.at("sum").get<std::string>();
    for (const Json& holder : json.at("holders"))
      way.holders.push_back(
          {holder.at("at").get<Address>(),
           holder.at("where").get<std::string>(),
           {holder.at("block").at("begin").get<Address>(), holder.at("block").at("end").get<Address>()}});
    for (const Json& step : json.at("steps")) way.steps.push_back(step_of(step));
    return way;
  } catch (const Json::exception& error) {
    fail("what was followed cannot be read: {}", error.what());
  }
}

std::string FollowedWay::title() const {
  constexpr std::array<std::string_view, 4> kEndings{"it was not followed", "it returned",
                                                     "it was left by longjmp or an exception",
                                                     "it had not returned when the program ended"};
  return fmt::format("{} with {:#x}: {}\n", short_name(function), object,
                     why_not.empty() ? std::string(kEndings[static_cast<std::size_t>(end)]) : why_not);
}

std::string FollowedWay::text() const {
  std::string text;
  std::string in;
  std::string file;
  std::vector<std::string> source;
  for (const FollowedStep& step : steps) {
    if (step.function != in && !in.empty()) text += fmt::format("    {}:\n", short_name(step.function));
    in = step.function;
    if (step.file != file) source = source_lines(step.file);
    file = step.file;
    const std::string line(step.line >= 1 && step.line <= source.size() ? trim(source[step.line - 1])
                                                                        : std::string_view());
    text += fmt::format("  {:>5}  {}\n", step.line, line);
    for (const FollowedEvent& event : step.events)
      text += fmt::format("           {} {} -> {}\n", role_name(event.role), shown_count(event.before),
                          shown_count(event.after));
  }
  return text;
}

}  // namespace refhist
