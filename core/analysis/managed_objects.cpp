#include "analysis/managed_objects.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "families/function_pattern.h"
#include "sites/planner.h"

namespace refhist {

namespace {

/// "Node*" of "std::_Sp_counted_ptr<Node*, (__gnu_cxx::_Lock_policy)2>"; empty when it is no template.
std::string first_argument(std::string_view type) {
  const std::size_t begin = type.find('<');
  if (begin == std::string_view::npos) return {};
  int depth = 0;
  for (std::size_t i = begin; i < type.size(); ++i) {
    const char c = type[i];
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    if (depth == 0 || (depth == 1 && c == ','))
      return std::string(trim(type.substr(begin + 1, i - begin - 1)));
  }
  return {};
}

std::string pointee(std::string type) {
  while (!type.empty() && (type.back() == '*' || type.back() == ' ')) type.pop_back();
  return type;
}

/// What a holder has inside itself: "Leaf" of impl<Leaf, allocator>, and of impl<Leaf*, deleter<Leaf>>, whose
/// deleter has the object.
std::string stored_type(std::string_view holder) {
  const std::string first = first_argument(holder);
  const std::string without = pointee(first);
  const bool in_deleter = first != without && holder.find("<" + without + ">") != std::string_view::npos;
  return in_deleter ? without : first;
}

/// "ns::Conn" of "ns::Conn::put(int)".
std::string class_of(std::string_view function) {
  const std::string name = function_part(function);
  int depth = 0;
  for (std::size_t i = name.size(); i > 1; --i) {
    const char c = name[i - 1];
    depth += c == '>' || c == ')' ? 1 : c == '<' || c == '(' ? -1 : 0;
    if (depth == 0 && c == ':' && name[i - 2] == ':') return name.substr(0, i - 2);
  }
  return {};
}

}  // namespace

std::vector<ManagedObjects::Way> ManagedObjects::ways(const Object& object, const std::string& holder) const {
  std::vector<Way> ways;
  for (const std::string& text : families_[object.family.index()].family.managed) {
    const bool points = text.starts_with('*');
    for (const LoadedModule* module : modules_.all()) {
      if (!module->module->has_debug_info()) continue;
      try {
        const auto place = module->module->member(holder, text.substr(points ? 1 : 0));
        if (!place) continue;
        ways.push_back(Way{place->offset, points});
        break;
      } catch (const Error&) {
        continue;  // the type has no such member: another one is in the list
      }
    }
  }
  return ways;
}

std::optional<ManagedObject> ManagedObjects::follow(const ProgramView& program, const Way& way,
                                                    const Object& object, const std::string& holder) {
  ManagedObject found;
  found.address = object.address + way.offset;
  const bool reached = !way.points || program.read_word(found.address, found.address);
  if (!reached || found.address == 0) return std::nullopt;
  Address begin = 0;
  found.type = types_.of_virtual_table(program, found.address, begin);
  if (!found.type.empty()) {
    found.address = begin;
  } else {
    found.type = way.points ? pointee(first_argument(holder)) : stored_type(holder);
  }
  return found;
}

bool ManagedObjects::is_base(const Object& object) const {
  return families_[object.family.index()].family.is_base();
}

std::optional<ManagedObject> ManagedObjects::around(const Object& object, const std::string& type) const {
  const TrackedFamily& tracked = families_[object.family.index()];
  if (!tracked.counter || tracked.family.counter.path.empty()) return std::nullopt;
  const auto place = member_place(modules_.all(), type, tracked.family.counter.path);
  if (!place) return std::nullopt;
  return ManagedObject{object.address + tracked.counter->offset - place->offset, type};
}

/// By the virtual tables in front of the counted base: the object begins at one of them.
std::optional<ManagedObject> ManagedObjects::find_derived(const ProgramView& program, const Object& object) {
  constexpr Address kFar = 512;  // bytes that may stand in front of the base
  for (Address back = 0; back <= std::min(kFar, object.address); back += sizeof(Address)) {
    Address begin = 0;
    const std::string type = types_.of_virtual_table(program, object.address - back, begin);
    const auto found = type.empty() ? std::nullopt : around(object, type);
    if (found && found->address == begin) return found;
  }
  return std::nullopt;
}

/// A derived class's constructor calls its base's: the outermost of them is the object's.
std::optional<ManagedObject> ManagedObjects::derived_by_birth(const Object& object,
                                                              const std::vector<NamedFrame>& stack) const {
  std::optional<ManagedObject> found;
  for (const NamedFrame& frame : stack) {
    const std::string type = class_of(frame.function);
    const auto derived = type.empty() ? std::nullopt : around(object, type);
    if (!derived && found) break;
    if (derived) found = derived;
  }
  return found;
}

std::optional<ManagedObject> ManagedObjects::find(const ProgramView& program, const Object& object) {
  const Family& family = families_[object.family.index()].family;
  if (family.managed.empty()) {
    const std::string type = types_.of(program, family, object.address);
    return type.empty() ? std::nullopt : std::optional(ManagedObject{object.address, type});
  }
  if (is_base(object)) return find_derived(program, object);
  Address begin = 0;
  const std::string holder = types_.of_virtual_table(program, object.address, begin);
  if (holder.empty() || begin != object.address) return std::nullopt;
  for (const Way& way : ways(object, holder)) {
    if (auto found = follow(program, way, object, holder)) return found;
  }
  return std::nullopt;
}

void ManagedObjects::look(const ProgramView& program) {
  constexpr std::size_t kTried = 64;      // objects of a family: when none has a type, the others have none
  constexpr std::size_t kMost = 100'000;  // a title is not worth seconds
  std::vector<Looked> looked(families_.size());
  for (const auto& [id, object] : history_.objects()) {
    const Family& family = families_[object.family.index()].family;
    Looked& at = looked[object.family.index()];
    if (object.state != ObjectState::live || family.allocator || known_.contains(id)) continue;
    const bool enough = at.tried >= kMost || (at.found == 0 && at.tried >= kTried);
    if (family.managed.empty() && enough) continue;
    auto found = find(program, object);
    ++at.tried;
    at.found += found ? 1 : 0;
    if (!found && is_base(object)) found = by_birth(id);  // of a type without virtual functions
    if (found) known_.emplace(id, std::move(*found));
  }
}

std::optional<ManagedObject> ManagedObjects::by_birth(ObjectId id) {
  const Object& object = history_.object(id);
  for (EventId event = object.last_event; event.valid(); event = history_.previous(event)) {
    const Event& birth = history_.event(event);
    if (birth.role != Role::init || !birth.stack.valid()) continue;
    const std::vector<NamedFrame> stack = namer_.stack(birth.stack);
    const auto found = is_base(object) ? derived_by_birth(object, stack) : by_birth(object, stack);
    if (found) return found;
  }
  return std::nullopt;
}

bool ManagedObjects::deletes(ObjectId id) {
  const Object& object = history_.object(id);
  if (!object.born.valid()) return false;
  const std::vector<std::string>& deleters = families_[object.family.index()].family.deleters;
  const std::vector<NamedFrame> stack = namer_.stack(history_.event(object.born).stack);
  return std::any_of(stack.begin(), stack.end(), [&](const NamedFrame& frame) {
    const std::string type = class_of(frame.function);
    return std::any_of(deleters.begin(), deleters.end(),
                       [&](const std::string& pattern) { return glob_match(pattern, type); });
  });
}

std::optional<ManagedObject> ManagedObjects::by_birth(const Object& object,
                                                      const std::vector<NamedFrame>& stack) const {
  for (const NamedFrame& frame : stack) {
    const std::string holder = class_of(frame.function);
    const auto ways = holder.find('<') == std::string::npos ? std::vector<Way>() : this->ways(object, holder);
    if (ways.empty()) continue;
    const Way& way = ways.back();
    if (way.points) return ManagedObject{0, pointee(first_argument(holder))};
    return ManagedObject{object.address + way.offset, stored_type(holder)};
  }
  return std::nullopt;
}

std::optional<ManagedObject> ManagedObjects::of(ObjectId id) {
  const Object& object = history_.object(id);
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  if (families_[object.family.index()].family.managed.empty()) return std::nullopt;
  auto found = by_birth(id);
  const bool over = object.state != ObjectState::live;
  if (found && over) known_.emplace(id, *found);
  return found;
}

std::vector<ObjectId> ManagedObjects::managing(Address address) const {
  std::vector<ObjectId> found;
  for (const auto& [id, managed] : known_) {
    if (managed.address == address) found.push_back(id);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace refhist
