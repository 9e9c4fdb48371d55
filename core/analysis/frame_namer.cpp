#include "analysis/frame_namer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "base/text.h"
#include "families/function_pattern.h"

namespace refhist {

namespace {

/// "conn" of "struct conn".
std::string_view type_name(std::string_view type) {
  const std::size_t blank = type.rfind(' ');
  return blank == std::string_view::npos ? type : type.substr(blank + 1);
}

/// Compilers tell no line for code that they have made one of several: then it is that of the code before it
/// which belongs to the same function.
unsigned line_before(const Module& module, Address where, const SourceFrame& frame) {
  constexpr std::size_t kMost = 32;  // rows
  const auto function = module.function_at(where);
  if (!function) return 0;
  std::vector<LineRow> rows = module.line_rows(function->range(), where);
  std::erase_if(rows, [&](const LineRow& row) { return row.address > where || row.line == 0; });
  const std::size_t first = rows.size() - std::min(rows.size(), kMost);
  for (std::size_t i = rows.size(); i > first; --i) {
    for (const SourceFrame& other : module.source_frames(rows[i - 1].address)) {
      if (other.function == frame.function && other.inlined == frame.inlined && other.line != 0)
        return other.line;
    }
  }
  return 0;
}

}  // namespace

const std::vector<NamedFrame>& FrameNamer::name(const StackFrame& frame) {
  const auto [entry, added] = cache_.try_emplace(frame);
  std::vector<NamedFrame>& names = entry->second;
  if (!added) return names;
  const LoadedModule* module = frame.module.valid() ? modules_.get(frame.module) : nullptr;
  if (module == nullptr) {
    names.push_back(NamedFrame{{}, {}, 0, {}, frame.pc, false, nullptr});
    return names;
  }
  const Address where =
      frame.exact ? frame.pc : frame.pc - 1;  // a return address may belong to the next line
  for (const SourceFrame& source : module->module->source_frames(where)) {
    const bool told = source.line != 0 || source.file.empty();
    const unsigned line = told ? source.line : line_before(module->module->code(), where, source);
    names.push_back(NamedFrame{one_line(source.function), one_line(source.file), line, module->module->path(),
                               frame.pc + module->bias, source.inlined, nullptr});
  }
  if (names.empty())
    names.push_back(NamedFrame{{}, {}, 0, module->module->path(), frame.pc + module->bias, false, nullptr});
  return names;
}

std::vector<NamedFrame> FrameNamer::stack(StackId stack) {
  std::vector<NamedFrame> result;
  const std::vector<StackFrame> frames = history_.stacks().frames(stack);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::vector<NamedFrame>& names = name(frames[i]);
    result.insert(result.end(), names.begin(), names.end());
    if (i + 1 < frames.size()) result.back().lost = tail_calls_.between(frames[i], frames[i + 1]);
  }
  return result;
}

const FrameNamer::Result& FrameNamer::result_of(const NamedFrame& frame) {
  const auto [known, added] = results_.try_emplace({frame.module, frame.function});
  if (added) known->second = find_result(frame);
  return known->second;
}

const std::string& FrameNamer::result_type(const NamedFrame& frame) { return result_of(frame).type; }

bool FrameNamer::hands_nothing_out(const NamedFrame& frame) { return result_of(frame).hands_nothing_out; }

bool FrameNamer::leaves_pointer(const NamedFrame& frame) { return result_of(frame).leaves_pointer; }

bool FrameNamer::returns_counted(const Event& event, const NamedFrame& frame) {
  const std::string& type = result_type(frame);
  return !type.empty() && type == type_name(family_of(event).counter.type);
}

bool FrameNamer::returns_object(const Event& event, const NamedFrame& frame) {
  return returns_counted(event, frame) &&
         !makes_objects(history_.object(event.object).family, frame.function);
}

bool FrameNamer::is_put(const std::string& function) const {
  return std::any_of(sites_.all().begin(), sites_.all().end(),
                     [&](const Site& site) { return site.role == Role::put && site.function == function; });
}

bool FrameNamer::makes_objects(FamilyId family, const std::string& function) {
  constexpr std::size_t kCallers = 2;
  const std::vector<EventOrigin>& origins = history_.log().origins();
  const bool same =
      origins_seen_ == 0 || (origins_seen_ <= origins.size() && origins[origins_seen_ - 1] == last_origin_);
  if (!same) {  // of another history
    makers_.clear();
    origins_seen_ = 0;
  }
  for (; origins_seen_ < origins.size(); ++origins_seen_) {
    const EventOrigin& origin = origins[origins_seen_];
    last_origin_ = origin;
    if (!origin.site.valid() || !origin.stack.valid() || sites_.get(origin.site).role != Role::init) continue;
    const std::vector<NamedFrame> frames = stack(origin.stack);
    const std::size_t last = std::max(kCallers, owner_depth(origin));
    for (std::size_t i = 1; i < frames.size() && i <= last; ++i)
      makers_.emplace(sites_.get(origin.site).family, frames[i].function);
  }
  return makers_.contains({family, function});
}

std::size_t FrameNamer::owner_depth(const EventOrigin& origin) {
  Event event;
  event.site = origin.site;
  event.stack = origin.stack;
  const std::vector<StackFrame> frames = history_.stacks().frames(origin.stack);
  const std::size_t owner = frames.empty() ? 0 : owner_index(event, frames);
  std::size_t depth = 0;
  for (std::size_t i = 0; i < owner; ++i) depth += name(frames[i]).size();
  return depth;
}

FrameNamer::Result FrameNamer::find_result(const NamedFrame& frame) const {
  const auto signature = helpers_.signature(frame);
  if (!signature) return {};
  const bool leaves_pointer =
      std::any_of(signature->parameters.begin(), signature->parameters.end(), [](const Parameter& one) {
        return one.type.ends_with("**") || one.type.ends_with("*&") || one.type == "gpointer *";
      });
  return {std::string(type_name(signature->result_pointee)), signature->hands_nothing_out, leaves_pointer};
}

std::size_t FrameNamer::first_of_program(const std::vector<StackFrame>& frames) const {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const StackFrame& frame) {
    const LoadedModule* module = frame.module.valid() ? modules_.get(frame.module) : nullptr;
    return module != nullptr && !is_system_path(module->module->path());
  });
  return found == frames.end() ? 0 : static_cast<std::size_t>(found - frames.begin());
}

bool FrameNamer::runs_others(const Site& site, const StackFrame& frame) {
  const Family& family = families_[site.family.index()].family;
  return !family.runs.empty() && family.runs_in(name(frame).back().function);
}

std::size_t FrameNamer::owner_index(const Event& event, const std::vector<StackFrame>& frames) {
  // A change that a watchpoint has seen was made by this very function.
  if (!event.site.valid()) return event.role == Role::use ? first_of_program(frames) : 0;
  const ModuleId defined_in = event.site.valid() ? sites_.get(event.site).module : ModuleId();
  const LoadedModule* module = defined_in.valid() ? modules_.get(defined_in) : nullptr;
  const bool library =
      module != nullptr && module->module->interpreter().empty() && module->module->position_independent();
  for (std::size_t i = 1; library && i < frames.size(); ++i) {
    if (frames[i].module != defined_in || runs_others(sites_.get(event.site), frames[i])) return i;
  }
  return frames.size() > 1 ? 1 : 0;
}

/// What an inlined copy was inlined into, or what called the function that the site is in. A copy of which
/// the compiler has inlined head and rest one into the other is one call.
FrameNamer::Place FrameNamer::behind_copy(const Site& site, const std::vector<StackFrame>& frames) {
  if (site.in_place()) return {0, 0};
  const std::vector<NamedFrame>& names = name(frames.front());
  const std::string probe(function_part(site.function));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (function_part(names[i].function) != probe) continue;
    while (i + 1 < names.size() && names[i].inlined && function_part(names[i + 1].function) == probe) ++i;
    Place place{0, i};
    next(frames, place);
    return place;
  }
  return {0, names.size() - 1};
}

bool FrameNamer::next(const std::vector<StackFrame>& frames, Place& place) {
  if (place.name + 1 < name(frames[place.frame]).size()) {
    ++place.name;
    return true;
  }
  if (place.frame + 1 >= frames.size()) return false;
  place = {place.frame + 1, 0};
  return true;
}

bool FrameNamer::passes_on(const Event& event, const NamedFrame& frame) {
  const Family& family = family_of(event);
  const std::string_view probe = event.site.valid() ? std::string_view(sites_.get(event.site).function) : "";
  return family.folds(frame.function) || helpers_.helps(probe, type_name(family.counter.type), frame);
}

template <class Skip>
FrameNamer::Place FrameNamer::behind(const std::vector<StackFrame>& frames, Place from, Skip&& skip) {
  for (Place place = from;;) {
    if (!skip(name(frames[place.frame])[place.name])) return place;
    if (!next(frames, place)) return from;
  }
}

FrameNamer::Place FrameNamer::unfolded(const Event& event, const std::vector<StackFrame>& frames,
                                       Place from) {
  return behind(frames, from, [&](const NamedFrame& frame) { return passes_on(event, frame); });
}

std::size_t FrameNamer::names_before(const std::vector<StackFrame>& frames, Place place) {
  std::size_t before = place.name;
  for (std::size_t i = 0; i < place.frame; ++i) before += name(frames[i]).size();
  return before;
}

FrameNamer::Place FrameNamer::caller_place(const Event& event, const std::vector<StackFrame>& frames) {
  const Site* site = event.site.valid() ? &sites_.get(event.site) : nullptr;
  return site != nullptr && site->counter ? behind_copy(*site, frames) : Place{owner_index(event, frames), 0};
}

FrameNamer::Place FrameNamer::owner_place(const Event& event, const std::vector<StackFrame>& frames) {
  return unfolded(event, frames, caller_place(event, frames));
}

NamedFrame FrameNamer::owner(const Event& event) {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  if (frames.empty()) return {};
  const Place place = owner_place(event, frames);
  return name(frames[place.frame])[place.name];
}

std::size_t FrameNamer::folded(const Event& event) {
  const Family& family = family_of(event);
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  if (frames.empty() || family.fold.empty()) return 0;
  return names_before(frames, behind(frames, caller_place(event, frames),
                                     [&](const NamedFrame& frame) { return family.folds(frame.function); }));
}

bool FrameNamer::by_library(const Event& event) {
  return owner_behind_call(event, history_.stacks().frames(event.stack)) > 1;
}

bool FrameNamer::calls_itself(const Event& event) {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  if (frames.empty() || !event.site.valid()) return false;
  const Place owner = owner_place(event, frames);
  if (sites_.get(event.site).counter) return owner.frame == 0;
  if (owner != Place{1, 0}) return false;
  return tail_calls_.between(frames[0], frames[1]) == nullptr || tail_calls_.only_jump(frames[0], frames[1]);
}

std::string FrameNamer::operation(const Event& event) {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  if (frames.empty()) return {};
  const Place caller = caller_place(event, frames);
  const Place owner = unfolded(event, frames, caller);
  const std::size_t before = names_before(frames, owner);
  if (before == 0 || (family_of(event).fold.empty() && owner == caller)) return {};
  return short_function_name(stack(event.stack)[before - 1].function);
}

std::size_t FrameNamer::owner_behind_call(const Event& event, const std::vector<StackFrame>& frames) {
  const bool inlined = event.site.valid() && sites_.get(event.site).counter;
  if (frames.empty() || inlined) return 0;
  const Place caller{owner_index(event, frames), 0};
  return unfolded(event, frames, caller) == caller ? caller.frame : 0;
}

// Where the owner is not inlined into what it called.
std::size_t FrameNamer::called_from(const Event& event, const std::vector<StackFrame>& frames) {
  if (frames.empty()) return 0;
  const Place owner = owner_place(event, frames);
  return owner.name == 0 ? owner.frame : 0;
}

std::string FrameNamer::lost_owner(const Event& event) {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  const std::size_t owner = called_from(event, frames);
  if (owner == 0) return {};
  const auto lost = tail_calls_.between(frames[owner - 1], frames[owner]);
  return lost && lost->complete && lost->ways.size() == 1 ? lost->ways.front().back() : std::string();
}

std::optional<NamedFrame> FrameNamer::jumping_owner(const Event& event) {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  const std::size_t owner = called_from(event, frames);
  const auto jump = owner == 0 ? std::nullopt : tail_calls_.only_jump(frames[owner - 1], frames[owner]);
  if (!jump) return std::nullopt;
  const std::vector<NamedFrame>& names = name(*jump);
  const auto whose = std::find_if_not(names.begin(), names.end(),
                                      [&](const NamedFrame& frame) { return passes_on(event, frame); });
  return whose == names.end() ? names.back() : *whose;
}

std::string FrameNamer::text(const NamedFrame& frame, bool whole) {
  const std::string function = whole ? frame.function : short_name(frame.function);
  if (!function.empty() && frame.line != 0) {
    return fmt::format("{} ({}:{})", function, file_name(frame.file), frame.line);
  }
  const std::string offset = frame.offset == 0 ? std::string() : fmt::format("+{}", frame.offset);
  if (!function.empty()) return fmt::format("{}{} in {}", function, offset, file_name(frame.module));
  if (frame.pc == 0) return "an unknown caller";
  if (!frame.module.empty()) return fmt::format("{:#x} in {}", frame.pc, file_name(frame.module));
  return fmt::format("{:#x}", frame.pc);
}

}  // namespace refhist
