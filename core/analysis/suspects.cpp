#include "analysis/suspects.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace refhist {

namespace {

constexpr double kSeldom = 0.1;
constexpr double kUsual = 0.6;  // share of a partner from which on it is the usual one

std::string share_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

bool same_place(const NamedFrame& one, const NamedFrame& other) {
  return one.function == other.function && one.line == other.line;
}

/// The C library's frames outside of main and of a thread's function.
bool runs_programs(const NamedFrame& frame) {
  return std::filesystem::path(frame.module).filename().string().rfind("libc.so", 0) == 0;
}

}  // namespace

std::string Suspect::text() const { return fmt::format("{} in {}: {}", what, FrameNamer::text(frame), why); }

void Suspects::add(std::vector<Suspect>& suspects, std::vector<Suspect> more) {
  for (Suspect& suspect : more) {
    const bool known = std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& other) {
      return same_place(other.frame, suspect.frame);
    });
    if (!known) suspects.push_back(std::move(suspect));
  }
}

std::optional<Event> Suspects::event_in(ObjectId id, const std::string& function, bool put) {
  std::optional<Event> best;
  for (const auto& [event, times] : history_.kinds_of(id)) {
    const bool wanted = (put ? gives_back(event) : acquires(event)) && owners_.of(event).place == function;
    if (wanted && (!best || owners_.of(event).frame.line > owners_.of(*best).frame.line)) best = event;
  }
  if (best) best->object = id;
  return best;
}

NamedFrame Suspects::in_source(const Event& event) {
  const NamedFrame& owner = owners_.of(event).frame;
  if (!owner.file.empty()) return owner;
  const std::vector<NamedFrame> frames = namer_.stack(event.stack);
  auto frame = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& one) {
    return one.pc == owner.pc && one.function == owner.function;
  });
  const auto last = std::find_if(frame, frames.end(), runs_programs);
  frame = std::find_if(frame, last, [](const NamedFrame& one) { return !one.file.empty(); });
  return frame == last ? owner : *frame;
}

std::vector<NamedFrame> Suspects::outwards(StackId stack, const NamedFrame& owner) {
  std::vector<NamedFrame> frames = namer_.stack(stack);
  const auto first = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& one) {
    return one.pc == owner.pc && one.function == owner.function;
  });
  frames.erase(frames.begin(), first == frames.end() ? frames.begin() : first);
  frames.erase(std::find_if(frames.begin(), frames.end(), runs_programs), frames.end());
  return frames;
}

std::string Suspects::usual_end(const std::string& function, const ReferencePairs::Partners& partners) {
  if (partners.empty() || partners.front().second < kUsual) return {};
  const auto& [partner, share] = partners.front();
  if (partner == function) return fmt::format("; it gives back {} of those that it takes", share_text(share));
  return fmt::format("; {} gives back {} of those taken in {}", partner, share_text(share), function);
}

void Suspects::add_lost_reference(const Event& taken, const std::string& function,
                                  std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(taken.object).family;
  const ReferencePairs::Partners partners = pairs_.partners_of_taken(family, function);
  const std::string usual = usual_end(function, partners);
  const auto share = [&](const std::string& other) {
    const auto found = std::find_if(partners.begin(), partners.end(),
                                    [&](const auto& partner) { return partner.first == other; });
    return found == partners.end() ? 0 : found->second;
  };
  // Whoever usually gives such a reference back owns it: where that function is on the stack, it had it in
  // hand.
  const std::vector<NamedFrame> frames = outwards(taken.stack, owners_.of(taken).frame);
  const auto holder = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& frame) {
    return !frame.function.empty() && share(frame.function) >= kUsual;
  });
  if (holder != frames.end()) {
    add(suspects,
        {{*holder, "missing put", "candidate",
          fmt::format("{} took a reference here and did not give it back{}", holder->function, usual)}});
    return;
  }
  const bool hands_out = taken.role == Role::init && !partners.empty() && share(function) < kSeldom;
  if (hands_out && frames.size() > 1 && !frames[1].file.empty()) {
    add(suspects, {{frames[1], "missing put", "candidate",
                    fmt::format("no put fits the reference that {} hands out here{}", function, usual)}});
  } else {
    add(suspects, {{in_source(taken), "missing put", "candidate",
                    fmt::format("no put fits the reference that was taken here{}", usual)}});
  }
  if (!usual.empty())
    add(suspects,
        {{example_of_(partners.front().first, family, true), "missing put", "candidate", usual.substr(2)}});
}

void Suspects::add_extra_put(const Event& put, const std::string& function, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(put.object).family;
  add(suspects, {{in_source(put), "extra put", "candidate", "no reference fits the put here"}});
  const ReferencePairs::Partners partners = pairs_.partners_of_put(family, function);
  if (partners.empty() || partners.front().second < kUsual) return;
  const auto& [partner, share] = partners.front();
  add(suspects,
      {{example_of_(partner, family, false), "missing get", "candidate",
        fmt::format("{} of the references that {} gives back are taken here", share_text(share), function)}});
}

Suspect Suspects::of_reference(EventId id) {
  return {in_source(history_.event(id)), "missing put", "candidate",
          "nothing gave back the reference that was taken here"};
}

std::vector<Suspect> Suspects::of_surplus(ObjectId id, const Counts& taken, const Counts& given_back) {
  std::vector<Suspect> suspects;
  for (const auto& [function, times] : pairs_.unpaired(history_.object(id).family, taken, given_back).taken) {
    if (const auto event = event_in(id, function, false)) add_lost_reference(*event, function, suspects);
  }
  return suspects;
}

std::optional<Suspect> Suspects::of_cycle(ObjectId id, EventId since, const Counts& taken,
                                          const Counts& given_back) {
  const Counts unpaired = pairs_.unpaired(history_.object(id).family, taken, given_back).taken;
  std::optional<Event> best;
  int best_rank = -1;
  history_.read_back(id, [&](const EventLog::Entry& entry) {
    const Event& event = entry.event;
    if (!acquires(event) || event.role == Role::init) return;
    const bool later = !since.valid() || since < entry.id;
    const int rank = (later ? 2 : 0) + (unpaired.contains(owners_.of(event).place) ? 1 : 0);
    if (rank < best_rank) return;
    best = event;
    best_rank = rank;
  });
  if (!best) return std::nullopt;
  return Suspect{in_source(*best), "strong reference", "candidate",
                 "the reference that is taken here closes the cycle; a weak one would not keep it"};
}

std::vector<Suspect> Suspects::of_deficit(ObjectId id, const Counts& taken, const Counts& given_back) {
  std::vector<Suspect> suspects;
  for (const auto& [function, times] :
       pairs_.unpaired(history_.object(id).family, taken, given_back).given_back) {
    if (const auto event = event_in(id, function, true)) add_extra_put(*event, function, suspects);
  }
  return suspects;
}

}  // namespace refhist
