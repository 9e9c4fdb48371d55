#include "session/asked_calls.h"

#include <algorithm>
#include <utility>

namespace refhist {

namespace {

constexpr std::size_t kDeepest = 64;  // what siglongjmp has left behind is dropped in the end

/// The newest one that fits, taken out.
template <class Entry, class Fits>
std::optional<Entry> take(std::unordered_map<long, std::vector<Entry>>& by_thread, long tid, Fits fits) {
  const auto thread = by_thread.find(tid);
  if (thread == by_thread.end()) return std::nullopt;
  std::vector<Entry>& entries = thread->second;
  const auto found = std::find_if(entries.rbegin(), entries.rend(), fits);
  if (found == entries.rend()) return std::nullopt;
  Entry entry = std::move(*found);
  entries.erase(std::prev(found.base()));
  if (entries.empty()) by_thread.erase(thread);
  return entry;
}

}  // namespace

void AskedCalls::add(Asked asked) {
  std::vector<Asked>& entries = asked_[asked.candidate.tid];
  if (entries.size() == kDeepest) entries.erase(entries.begin());
  entries.push_back(std::move(asked));
}

std::optional<AskedCalls::Asked> AskedCalls::take_asked(const Call& call) {
  return take(asked_, call.tid, [&](const Asked& asked) { return asked.call() == call; });
}

bool AskedCalls::is_sent(const Call& call) const {
  const auto found = sent_.find(call.tid);
  return found != sent_.end() && std::any_of(found->second.begin(), found->second.end(),
                                             [&](const Sent& sent) { return sent.call == call; });
}

std::optional<AskedCalls::Sent> AskedCalls::take_sent(const Call& call) {
  return take(sent_, call.tid, [&](const Sent& sent) { return sent.call == call; });
}

std::optional<AskedCalls::Sent> AskedCalls::take_arrived(long tid, Address pc, Address sp) {
  return take(sent_, tid, [&](const Sent& sent) { return sent.arrives(pc, sp); });
}

bool AskedCalls::awaits(long tid, Address pc, Address sp) const {
  const auto found = sent_.find(tid);
  return found != sent_.end() && std::any_of(found->second.begin(), found->second.end(),
                                             [&](const Sent& sent) { return sent.arrives(pc, sp); });
}

std::unordered_set<Address> AskedCalls::awaited() const {
  std::unordered_set<Address> places;
  for (const auto& [tid, entries] : sent_) {
    for (const Sent& sent : entries) places.insert(sent.to);
  }
  return places;
}

std::vector<AskedCalls::Sent> AskedCalls::take_missed() {
  std::vector<Sent> missed;
  for (auto& [tid, entries] : std::exchange(sent_, {})) {
    for (Sent& sent : entries) missed.push_back(std::move(sent));
  }
  return missed;
}

void AskedCalls::forget() {
  asked_.clear();
  sent_.clear();
}

}  // namespace refhist
