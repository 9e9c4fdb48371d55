#include <fmt/core.h>

#include <string>
#include <vector>

#include "analysis/frame_module.h"
#include "analysis/suspects.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "x86/taken_arguments.h"

// Of an object that was put too often: where a reference was not taken that others give back.
namespace refhist {

namespace {

constexpr double kRare = 0.05;  // share of a partner up to which it is an accident

}  // namespace

void Suspects::add_stores(const Event& put, const SlotNames::Name& slot, std::vector<Suspect>& suspects) {
  const NamedFrame& owner = owners_.of(put).frame;
  const LoadedModule* loaded = own_module(put);
  if (loaded == nullptr || slot.holder.empty()) return;
  for (const auto& [place, to] : keeps_.stores(history_.object(put.object).family, *loaded, slot)) {
    const std::string keeps =
        to.empty() ? fmt::format("keeps the object in {}", slot.text)
                   : fmt::format("passes the object to {}, which keeps it in {},", short_name(to), slot.text);
    add(suspects, {{place, "missing get", "candidate",
                    fmt::format("{} {} and takes no reference for it; {} gives one back",
                                short_name(place.function), keeps, short_name(owner.function))}});
  }
}

std::vector<Suspect> Suspects::missing_gets(const Event& put, const ReferencePairs::Partners& partners) {
  const FamilyId family = history_.object(put.object).family;
  std::vector<NamedFrame> examples;
  for (const auto& [partner, share] : partners) {
    if (share < kRare) continue;
    const std::vector<NamedFrame> some = places_of_(partner, family, false);
    examples.insert(examples.end(), some.begin(), some.end());
  }
  std::vector<Suspect> suspects;
  const std::set<std::string> takers = takers_of(put.object);
  add_stores(put, event_pairs_.kept_in(put), suspects);
  for (const NamedFrame& example : examples)
    add_stores(put, ways_out_.kept_in(example, CallDoes::take), suspects);
  for (const NamedFrame& example : examples) {
    const SinkCalls::Found found = sinks_.without_get(family, example);
    if (takers.contains(found.sink)) continue;
    for (const auto& [place, to] : found.untaken) {
      add(suspects,
          {{place, "missing get", "candidate",
            fmt::format("{} passes the object to {} and takes no reference for it; {} does",
                        short_name(place.function), short_name(to), short_name(example.function))}});
    }
  }
  const LoadedModule* loaded = own_module(put);
  if (loaded == nullptr) return suspects;
  for (const auto& [place, to] : keeps_.returns(family, *loaded)) {
    add(suspects, {{place, "missing get", "candidate",
                    fmt::format("{} returns the object here without a reference; elsewhere it takes one",
                                short_name(place.function))}});
  }
  return suspects;
}

// What a library's function takes over has to come with a reference, whatever gives it back later.
void Suspects::add_given(ObjectId id, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(id).family;
  for (const auto& [event, times] : history_.kinds_of(id)) {
    if (!gives_back(event)) continue;
    Event put = event;
    put.object = id;
    const LoadedModule* loaded = module_of(namer_.modules(), in_source(put));
    if (loaded == nullptr || is_system_path(loaded->module->path())) continue;
    for (const auto& [place, to] : keeps_.given(family, *loaded, container_on(put))) {
      add(suspects, {{place, "missing get", "candidate",
                      fmt::format("{} passes the object to {}, which takes a reference over, and has none "
                                  "for it",
                                  short_name(place.function), short_name(to))}});
    }
  }
}

// The functions of a container that has given it back, in the library. What the program has called may have
// jumped on from there.
std::string Suspects::container_on(const Event& put) {
  for (const NamedFrame& frame : namer_.stack(put.stack)) {
    const bool own = !is_system_path(frame.file.empty() ? frame.module : frame.file);
    const LoadedModule* loaded = own ? module_of(namer_.modules(), frame) : nullptr;
    const std::string called = loaded == nullptr
                                   ? std::string()
                                   : keeps_.called_before(loaded->module->code(), frame.pc - loaded->bias);
    for (const std::string& name : {frame.function, called}) {
      if (const std::string_view container = container_of(name); !container.empty())
        return std::string(container);
    }
    if (own) break;
  }
  return {};
}

std::set<std::string> Suspects::takers_of(ObjectId id) {
  std::set<std::string> takers;
  for (const auto& [event, times] : history_.kinds_of(id)) {
    if (!acquires(event)) continue;
    for (const NamedFrame& frame : namer_.stack(event.stack)) takers.insert(frame.function);
  }
  return takers;
}

// Any of its puts may be the one that had no reference.
void Suspects::add_stores_of_all(ObjectId id, std::vector<Suspect>& suspects) {
  for (const auto& [event, times] : history_.kinds_of(id)) {
    if (!gives_back(event)) continue;
    Event put = event;
    put.object = id;
    add_stores(put, event_pairs_.kept_in(put), suspects);
  }
}

}  // namespace refhist
