#include "explain/explanation_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "reports/findings.h"
#include "reports/json_report.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

Json way_json(const FollowedWay& way) {
  if (way.steps.empty()) return nullptr;
  Json json = Json::parse(way.json());
  json.erase("schema");
  json["object"] = fmt::format("{:#x}", way.object);
  return json;
}

Json explanation_json(SessionState& state, const Explanation& explanation) {
  Json confirmed = nullptr;
  if (explanation.confirmed)
    confirmed = {{"function", explanation.confirmed->frame.function},
                 {"file", explanation.confirmed->frame.file},
                 {"line", explanation.confirmed->frame.line},
                 {"what", explanation.confirmed->what},
                 {"why", explanation.confirmed->why}};
  Json references = Json::array();
  for (const TracedReference& one : explanation.references)
    references.push_back({{"taken", one.taken}, {"stored", one.stored}, {"given_back", one.given}});
  Json kept = Json::array();
  for (const FollowedWay& way : explanation.kept) kept.push_back(way_json(way));
  return {{"object", fmt::format("{:#x}", state.history.object(explanation.object).address)},
          {"title", object_title(state, explanation.object)},
          {"reference", explanation.taken.valid() ? Json(explanation.taken.value) : Json(nullptr)},
          {"function", explanation.function},
          {"confirmed", std::move(confirmed)},
          {"why_not", explanation.why_not},
          {"references", std::move(references)},
          {"lost", way_json(explanation.lost)},
          {"kept", std::move(kept)}};
}

}  // namespace

std::string explanations_json(SessionState& state, const std::vector<Explanation>& all) {
  Json list = Json::array();
  for (const Explanation& explanation : all) list.push_back(explanation_json(state, explanation));
  const Json json{{"schema", kJsonSchema}, {"explanations", std::move(list)}, {"notes", caveats(state)}};
  return printable(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace refhist
