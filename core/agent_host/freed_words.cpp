#include "agent_host/freed_words.h"

#include <algorithm>
#include <map>

namespace refhist {

namespace {
constexpr std::uint64_t kBytesOfWord = 8;  // bytes
}

void FreedWords::choose(const std::vector<TrackedFamily>& families, const std::set<FamilyId>& armed) {
  std::map<std::uint16_t, std::size_t> times;
  for (const FamilyId id : armed) {
    const TrackedFamily& tracked = families[id.index()];
    const std::uint64_t word = tracked.counter ? tracked.counter->offset / kBytesOfWord : UINT16_MAX;
    if (!tracked.untracked && !tracked.family.allocator && word < UINT16_MAX)
      ++times[static_cast<std::uint16_t>(word + 1)];
  }
  // After those: what a control block points at.
  for (const FamilyId id : armed) {
    const TrackedFamily& tracked = families[id.index()];
    const auto& offset = tracked.family.managed_offset;
    if (!tracked.untracked && offset && *offset / kBytesOfWord < UINT16_MAX - 1)
      times.try_emplace(static_cast<std::uint16_t>(*offset / kBytesOfWord + 1), 0);
  }
  for (std::uint16_t& number : numbers_) {
    times.erase(number);
    if (number != 0) continue;
    const auto most = std::max_element(times.begin(), times.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == times.end()) return;
    number = most->first;
    times.erase(most);
  }
}

std::optional<std::uint64_t> FreedWords::bytes_at(const agent::Record& record, std::uint64_t offset,
                                                  std::size_t size) const {
  const std::array<std::uint64_t, 2> words{record.extra, record.count};
  const std::uint64_t within = offset % kBytesOfWord;
  if ((record.flags & agent::kHasFreed) == 0 || size == 0 || within + size > kBytesOfWord)
    return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (numbers_[i] == offset / kBytesOfWord + 1) return words[i] >> (8 * within);
  }
  return std::nullopt;
}

}  // namespace refhist
