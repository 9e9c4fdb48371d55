#include "analysis/late_use.h"

#include <algorithm>
#include <vector>

#include "analysis/frame_module.h"
#include "analysis/owners.h"

namespace refhist {

namespace {

struct Ends {
  std::optional<Event> use;  // or a get
  EventId use_id;
  std::optional<Event> put;  // the last one before it
  EventId put_id;
};

Ends ends_of(const History& history, ObjectId id) {
  Ends ends;
  const EventId died = history.object(id).died;
  history.read_back(id, [&](const EventLog::Entry& entry) {
    const bool late_get = acquires(entry.event) && died.valid() && died < entry.id;
    if (late_get) ends = {};  // the first one counts
    if (late_get || (entry.event.role == Role::use && !ends.use)) {
      ends.use = entry.event;
      ends.use_id = entry.id;
    }
    if (!gives_back(entry.event) || !ends.use || ends.put) return;
    ends.put = entry.event;
    ends.put_id = entry.id;
  });
  return ends;
}

using Inwards = std::vector<NamedFrame>::const_reverse_iterator;

/// Both stand in what is inlined at one place of the function.
bool in_one_copy(Inwards use, const std::vector<NamedFrame>& used, Inwards put,
                 const std::vector<NamedFrame>& given) {
  const Inwards inner_use = std::next(use);
  const Inwards inner_put = std::next(put);
  return inner_use != used.rend() && inner_put != given.rend() && inner_use->inlined && inner_put->inlined &&
         use->line == put->line && use->function == put->function && !inner_use->file.empty() &&
         inner_use->function == inner_put->function;
}

/// A call that is made later in the function, as the source has it.
bool is_behind(const NamedFrame& use, const NamedFrame& put) {
  return use.file == put.file && use.line != 0 && put.line != 0 ? use.line >= put.line : use.pc > put.pc;
}

/// Where the function that put it went on by a jump to the library that used it, and left it its frame.
std::optional<NamedFrame> jump_to_use(FrameNamer& namer, const NamedFrame& put, const NamedFrame& use) {
  const LoadedModule* own_module = module_of(namer.modules(), put);
  const std::vector<const LoadedModule*> all = namer.modules().all();
  const auto library = std::find_if(all.begin(), all.end(), [&](const LoadedModule* loaded) {
    return loaded != own_module && loaded->module->path() == use.module;
  });
  if (own_module == nullptr || library == all.end()) return std::nullopt;
  const StackFrame left{own_module->id, put.pc - own_module->bias, false};
  const auto jump = namer.tail_calls().jump_into(left, (*library)->module->code());
  if (!jump || jump->pc <= left.pc) return std::nullopt;
  const std::vector<NamedFrame>& names = namer.name(*jump);
  const auto own = std::find_if(names.begin(), names.end(),
                                [&](const NamedFrame& name) { return name.function == put.function; });
  return own == names.end() || own->line == 0 ? std::nullopt : std::optional(*own);
}

}  // namespace

std::optional<Event> late_get(const History& history, ObjectId id) {
  std::optional<Event> last;  // of those that were read, going back
  std::optional<Event> found;
  history.read_back(id, [&](const EventLog::Entry& entry) {
    if (gives_back(entry.event) && entry.event.after == 0 && last) found = last;
    if (acquires(entry.event) || gives_back(entry.event)) last = entry.event;
  });
  return found && found->role == Role::get ? found : std::nullopt;
}

std::optional<LateUse> late_use(const History& history, FrameNamer& namer, ObjectId id) {
  const Ends ends = ends_of(history, id);
  if (!ends.use || !ends.put || ends.use->thread != ends.put->thread) return std::nullopt;
  const std::vector<NamedFrame> used = namer.stack(ends.use->stack);
  const std::vector<NamedFrame> given = namer.stack(ends.put->stack);
  if (used.empty()) return std::nullopt;
  // From the outermost frame on both are the same calls, up to the function that made two of them. The use
  // may stand right where the put has returned to.
  const Address standing = used.front().pc;
  auto [use, put] =
      std::mismatch(used.rbegin(), used.rend(), given.rbegin(), given.rend(),
                    [&](const NamedFrame& one, const NamedFrame& other) {
                      return one.pc != standing && one.pc == other.pc && one.function == other.function;
                    });
  if (use == used.rend() || put == given.rend()) return std::nullopt;
  while (in_one_copy(use, used, put, given)) {
    ++use;
    ++put;
  }
  if (use->function != put->function) {
    const auto jump = acquires(*ends.use) ? std::nullopt : jump_to_use(namer, *put, *use);
    return jump ? std::optional(LateUse{*jump, *put, ends.put_id, ends.use_id}) : std::nullopt;
  }
  if (use->function.empty() || use->file.empty() || !is_behind(*use, *put)) return std::nullopt;
  const bool get = acquires(*ends.use);
  return LateUse{*use, *put, ends.put_id, ends.use_id, get, !get && use->pc == standing};
}

}  // namespace refhist
