#include <algorithm>

#include "analysis/frame_module.h"
#include "analysis/suspects.h"

// Which function on the stack of what took a lost reference had it in hand.
namespace refhist {

// Whoever usually gives such a reference back owns it: where that function is on the stack, it had it in
// hand.
std::optional<std::size_t> Suspects::held_at(const LostReference& lost) {
  const std::size_t outermost = outermost_holder(lost);
  // What counts of functions have told may be another reference than the pairs of events would.
  const auto usual = lost.id.valid() ? event_pairs_.usual_holder(lost.taken) : std::nullopt;
  if (usual && usual->share >= kUsual && usual->depth <= outermost && usual->depth < lost.frames.size() &&
      !lost.frames[usual->depth].file.empty() && !(usual->depth == 0 && keeps_elsewhere(lost)))
    return usual->depth;
  if (const NamedFrame* holder = lost.holder()) {
    const auto depth = static_cast<std::size_t>(holder - lost.frames.data());
    if (depth <= outermost) return depth;
  }
  const auto depth = depth_.usual(pairs_.subject_of(lost.taken.object), lost.function);
  if (depth && *depth > 0 && *depth <= outermost && *depth < lost.frames.size() &&
      !lost.frames[*depth].file.empty())
    return depth;
  return handed_to(lost);
}

// A function that returns no pointer, and leaves the reference in no memory that its caller knows, keeps it.
std::size_t Suspects::outermost_holder(const LostReference& lost) {
  if (!event_pairs_.kept_in(lost.taken).text.empty()) return lost.frames.size();
  const auto last = std::find_if(lost.frames.begin(), lost.frames.end(),
                                 [&](const NamedFrame& frame) { return namer_.hands_nothing_out(frame); });
  return static_cast<std::size_t>(last - lost.frames.begin());
}

// Other births and gets of the family may be given back where they are taken: not what a function that never
// does so puts in memory.
bool Suspects::keeps_elsewhere(const LostReference& lost) {
  const SlotNames::Name& slot = event_pairs_.kept_in(lost.taken);
  return !slot.holder.empty() && !slot.on_some_paths &&
         puts_in(lost.function, history_.object(lost.taken.object).family).empty();
}

// Functions that leave a pointer with their caller and never give back themselves, up to one that does.
std::optional<std::size_t> Suspects::handed_to(const LostReference& lost) {
  const FamilyId family = history_.object(lost.taken.object).family;
  for (std::size_t depth = 0; depth < lost.frames.size(); ++depth) {
    const NamedFrame& frame = lost.frames[depth];
    const bool between = depth > 0 && is_inside_library(frame);
    if (between) continue;  // a library that calls the program, and returns what it gets
    if (frame.function.empty() || frame.file.empty()) return std::nullopt;
    if (!puts_in(frame.function, family).empty()) return depth > 0 ? std::optional(depth) : std::nullopt;
    if (!hands_out(frame, lost.taken) && !namer_.leaves_pointer(frame)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace refhist
