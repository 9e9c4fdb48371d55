#include "analysis/owners.h"

#include <algorithm>
#include <filesystem>
#include <functional>

namespace refhist {

namespace {

/// The C library's frames outside of main and of a thread's function.
bool runs_programs(const NamedFrame& frame) {
  return std::filesystem::path(frame.module).filename().string().rfind("libc.so", 0) == 0;
}

}  // namespace

bool acquires(const Event& event) {
  return !event.failed && !event.unobserved &&
         (event.role == Role::init || event.role == Role::get || event.role == Role::try_get);
}

bool gives_back(const Event& event) { return !event.unobserved && event.role == Role::put; }

const Owner& Owners::of(const Event& event) {
  const auto [entry, added] = known_.try_emplace(std::uint64_t{event.site.value} << 32U | event.stack.value);
  Owner& owner = entry->second;
  if (!added) return owner;
  owner.frame = namer_.owner(event);
  if (gives_back(event)) {
    if (auto jumping = namer_.jumping_owner(event)) owner.frame = std::move(*jumping);
  }
  const bool get = event.role == Role::get || event.role == Role::try_get;
  if (get && namer_.returns_object(event, owner.frame)) owner.frame = receiver(event, owner.frame);
  if (const unsigned line = get ? statements_.of_call(owner.frame) : 0; line != 0) owner.frame.line = line;
  owner.place = owner.frame.function.empty() ? FrameNamer::text(owner.frame) : owner.frame.function;
  if (event.role == Role::init) note_receivers(event, owner);
  return owner;
}

void Owners::note_receivers(const Event& event, const Owner& owner) {
  const std::vector<NamedFrame> frames = from(event, owner.frame);
  for (std::size_t i = 1; i < frames.size() && namer_.returns_counted(event, frames[i - 1]); ++i)
    handed_.emplace(owner.place, frames[i].function);
}

NamedFrame Owners::receiver(const Event& event, const NamedFrame& owner) {
  const std::vector<NamedFrame> frames = from(event, owner);
  for (std::size_t i = 1; i < frames.size() && !frames[i].function.empty(); ++i) {
    if (!namer_.returns_object(event, frames[i])) return frames[i];
  }
  return owner;
}

// One that has jumped to what it called has no frame on the stack: it stands before the one that called it.
std::vector<NamedFrame> Owners::outwards(const Event& event) {
  const NamedFrame& owner = of(event).frame;
  if (!gives_back(event)) return from(event, owner);
  const NamedFrame on_stack = namer_.owner(event);
  std::vector<NamedFrame> frames = from(event, on_stack);
  if (on_stack.pc != owner.pc) frames.insert(frames.begin(), owner);
  return frames;
}

std::vector<NamedFrame> Owners::from(const Event& event, const NamedFrame& owner) {
  std::vector<NamedFrame> frames = namer_.stack(event.stack);
  const auto first = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& one) {
    return one.pc == owner.pc && one.function == owner.function;
  });
  frames.erase(frames.begin(), first == frames.end() ? frames.begin() : first);
  frames.erase(std::find_if(frames.begin(), frames.end(), runs_programs), frames.end());
  return frames;
}

std::uint64_t OwnerSums::of(bool put, const std::string& place) {
  std::uint64_t x = std::hash<std::string>{}(place)*2 + (put ? 1 : 0);
  x = (x + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::uint64_t OwnerSums::of(const Event& event) {
  const bool counts = acquires(event) || gives_back(event);
  return counts ? of(gives_back(event), owners_.of(event).place) : 0;
}

std::uint64_t OwnerSums::of(std::uint32_t origin, const Event& event) {
  if (origin >= by_origin_.size()) by_origin_.resize(origin + 1);
  if (!by_origin_[origin]) by_origin_[origin] = of(event);
  return *by_origin_[origin];
}

}  // namespace refhist
