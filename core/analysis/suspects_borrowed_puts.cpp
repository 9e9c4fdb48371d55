#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "analysis/frame_module.h"
#include "analysis/suspects.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "base/text.h"

// Of an object that was put too often: puts of what their function has only borrowed.
namespace refhist {

namespace {

constexpr std::size_t kMostEvents = 200;  // of an object whose puts are looked at

}  // namespace

std::string Suspects::why_borrowed(const UntakenKeeps::Borrowed& borrowed, EventId id, const Event& put) {
  using How = UntakenKeeps::Borrowed::How;
  const NamedFrame& frame = owners_.of(put).frame;
  const std::string name = short_name(frame.function);
  const auto before = [&] { return trail_.before(id, frame); };
  const auto has = [&] {
    const ActivationTrail::Before events = before();
    return events.taken > events.given_back;
  };
  const std::string by = short_name(borrowed.by);
  switch (borrowed.how) {
    case How::lent:
      return has() ? "" : fmt::format("{} gives back here what {} has only lent it", name, by);
    case How::handed_over:
      return fmt::format("{} gives back here what it has passed to {}, which takes the reference over", name,
                         by);
    case How::again:
      // What an inlined copy took before is not told apart from what its function did.
      return (frame.inlined ? before().taken > 0 : has())
                 ? ""
                 : fmt::format(
                       "{} gives the reference back here, and has given it back before on the same path",
                       name);
    case How::from_caller: {
      const std::vector<NamedFrame> frames = owners_.outwards(put);
      if (frames.size() < 2 || !is_system_path(frames[1].module) || has()) return {};
      const std::string caller =
          frames[1].function.empty() ? file_name(frames[1].module) : short_name(frames[1].function);
      return fmt::format("{} gives back here what {} has called it with; on other paths it does not", name,
                         caller);
    }
  }
  return {};
}

Suspects::BorrowedPuts Suspects::borrowed_puts(ObjectId id) {
  using How = UntakenKeeps::Borrowed::How;
  BorrowedPuts found;
  const Object& object = history_.object(id);
  if (object.events > kMostEvents) return found;
  std::set<Address> seen;
  for (const auto& [event_id, event] : history_.life_of(id)) {
    if (!gives_back(event)) continue;
    const NamedFrame& frame = owners_.of(event).frame;
    const LoadedModule* loaded = any_module_of(namer_.modules(), frame);
    if (loaded == nullptr || is_system_path(loaded->module->path()) || !seen.insert(frame.pc).second)
      continue;
    const auto borrowed = keeps_.borrowed(object.family, *loaded, frame.pc - loaded->bias);
    std::string why = borrowed ? why_borrowed(*borrowed, event_id, event) : std::string();
    if (why.empty()) continue;
    const bool handed = borrowed->how == How::handed_over;
    Suspect suspect{in_source(event), "extra put", "candidate", std::move(why)};
    add(borrowed->how == How::again ? found.again : found.borrowed,
        {std::move(suspect).found_by(handed ? Suspect::Basis::handed_over : Suspect::Basis::borrowed)});
  }
  return found;
}

}  // namespace refhist
