#include "session/held_words.h"

#include <algorithm>
#include <set>

#include "session/watchpoint.h"

namespace refhist {

namespace {

constexpr unsigned kSize = 8;

}  // namespace

std::string HeldWords::watch(DebuggerPort& port, const ProcessInfo& process, const NewHolder& holder) {
  const Word word{holder.at & ~Address{kSize - 1}, holder.block, holder.at, holder.where, holder.block.begin};
  const bool guarded = word.guard == 0 || word.guard == word.at || watches(word.guard);
  const bool taken = (!watches(word.at) && port.watchpoint_alive(word.at)) ||
                     (!guarded && port.watchpoint_alive(word.guard));
  if (taken) return "it is watched already";
  std::string why_not = place_watchpoint(port, process, word.at, kSize);
  if (!why_not.empty()) return why_not;
  if (!guarded) why_not = place_watchpoint(port, process, word.guard, kSize);
  if (why_not.empty()) {
    words_.push_back(word);
  } else {
    port.remove_watchpoint(word.at);
  }
  return why_not;
}

const HeldWords::Word* HeldWords::find(Address word) const {
  const auto is = [&](auto&& has) {
    const auto found = std::find_if(words_.begin(), words_.end(), has);
    return found == words_.end() ? nullptr : &*found;
  };
  const Word* found = is([word](const Word& one) { return one.at == word; });
  return found != nullptr ? found : is([word](const Word& one) { return one.guard == word; });
}

template <class Is>
void HeldWords::remove_if(DebuggerPort& port, Is&& is) {
  std::set<Address> before;
  for (const Word& word : words_) before.insert({word.at, word.guard});
  std::erase_if(words_, is);
  for (const Address address : before) {
    if (address != 0 && !watches(address)) port.remove_watchpoint(address);
  }
}

void HeldWords::remove(DebuggerPort& port, Address at) {
  remove_if(port, [at](const Word& word) { return word.at == at; });
}

void HeldWords::remove_in(DebuggerPort& port, AddressRange block) {
  remove_if(port, [block](const Word& word) { return block.contains(word.at); });
}

void HeldWords::clear(DebuggerPort& port) {
  remove_if(port, [](const Word&) { return true; });
}

}  // namespace refhist
