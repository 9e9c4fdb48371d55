#include "analysis/release_depth.h"

#include <algorithm>
#include <set>

namespace refhist {

namespace {

constexpr double kUsually = 0.6;    // share of the references
constexpr std::size_t kFewest = 2;  // released objects: one alone shows no habit

}  // namespace

std::optional<std::size_t> ReleaseDepth::usual(const ReferencePairs::Subject& subject,
                                               const std::string& function) {
  const auto [entry, added] = known_.try_emplace({subject, function});
  if (added) entry->second = look(subject, function);
  return entry->second;
}

void ReleaseDepth::add(ObjectId id, const std::string& function, const ReferencePairs::Partners& partners,
                       std::map<std::size_t, Found>& depths) {
  std::vector<Event> gets;
  std::set<std::string> putting;
  for (auto& [event, times] : history_.kinds_of(id)) {
    if (gives_back(event)) putting.insert(owners_.of(event).place);
    if (!acquires(event) || owners_.of(event).place != function) continue;
    gets.push_back(event);
    gets.back().object = id;
  }
  for (const Event& get : gets) {
    const std::vector<NamedFrame> frames = owners_.outwards(get);
    const auto frame = std::find_if(frames.begin(), frames.end(),
                                    [&](const NamedFrame& one) { return putting.contains(one.function); });
    if (frame == frames.end()) continue;
    const auto share = std::find_if(partners.begin(), partners.end(),
                                    [&](const auto& partner) { return partner.first == frame->function; });
    if (share == partners.end()) continue;
    Found& found = depths[static_cast<std::size_t>(frame - frames.begin())];
    ++found.objects;
    found.functions[frame->function] = share->second;
  }
}

std::optional<std::size_t> ReleaseDepth::look(const ReferencePairs::Subject& subject,
                                              const std::string& function) {
  const auto [objects, added] = objects_.try_emplace(subject.family);
  if (added) objects->second = released_(subject.family);
  const ReferencePairs::Partners partners = pairs_.partners_of_taken(subject, function);
  std::map<std::size_t, Found> depths;
  for (const ObjectId id : objects->second) add(id, function, partners, depths);
  for (const auto& [depth, found] : depths) {
    double share = 0;
    for (const auto& [name, part] : found.functions) share += part;
    if (share >= kUsually && found.objects >= kFewest) return depth;
  }
  return std::nullopt;
}

}  // namespace refhist
