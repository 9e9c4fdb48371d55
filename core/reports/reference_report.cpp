#include "reports/reference_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/history_report.h"

namespace refhist {

namespace {

std::string step_text(SessionState& state, EventPairs& pairs, EventId id) {
  if (!id.valid()) return "taken before the object was first seen";
  return fmt::format("#{} {}{}", id.value, call_text(state, state.history.event(id)),
                     kept_text(state, pairs, id));
}

std::string basis_text(const EventPairs::References& references) {
  return references.learned_from == 0
             ? "no object of the family was released cleanly: gets and puts are paired by their stacks "
               "alone\n"
             : fmt::format("the pairing of gets and puts was learned from {} that {} released cleanly\n",
                           plural(references.learned_from, "object"),
                           references.learned_from == 1 ? "was" : "were");
}

nlohmann::ordered_json number_json(EventId id) {
  return id.valid() ? nlohmann::ordered_json(id.value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string reference_report(SessionState& state, EventPairs& pairs, ObjectId id) {
  std::string text = fmt::format("{}: {}", object_title(state, id), state_text(state.history.object(id)));
  const auto references = pairs.references(id);
  if (!references) return text + "\nits gets and puts are too many to pair, or only counted\n";
  const auto open = static_cast<std::size_t>(
      std::count_if(references->all.begin(), references->all.end(),
                    [](const EventPairs::Reference& reference) { return !reference.given_back.valid(); }));
  text += fmt::format("; {}, {} not given back\n", plural(references->all.size(), "reference"), open);
  for (const EventPairs::Reference& reference : references->all) {
    text += fmt::format("  {}\n", step_text(state, pairs, reference.taken));
    text += reference.given_back.valid()
                ? fmt::format("      given back: {}\n", step_text(state, pairs, reference.given_back))
                : std::string("      not given back\n");
  }
  for (const EventId put : references->given_back)
    text += fmt::format("  gives back a reference that nobody had taken: {}\n", step_text(state, pairs, put));
  if (references->at_once != 0)
    text += fmt::format("  and {} given back at once by the function that took it\n",
                        plural(references->at_once, "reference"));
  return text + basis_text(*references);
}

nlohmann::ordered_json references_of_json(const SessionState& state, EventPairs& pairs, ObjectId id) {
  const auto references = pairs.references(id);
  if (!references) return nullptr;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto place_of = [&](EventId event) {
    return event.valid() ? pairs.kept_in(state.history.event(event)).text : std::string();
  };
  for (const auto& [taken, given_back] : references->all)
    all.push_back({{"taken", number_json(taken)},
                   {"kept_in", place_of(taken)},
                   {"given_back", number_json(given_back)},
                   {"given_back_from", place_of(given_back)}});
  nlohmann::ordered_json unpaired = nlohmann::ordered_json::array();
  for (const EventId put : references->given_back) unpaired.push_back(put.value);
  return {{"all", std::move(all)},
          {"puts_without_one", std::move(unpaired)},
          {"given_back_at_once", references->at_once},
          {"learned_from", references->learned_from}};
}

}  // namespace refhist
