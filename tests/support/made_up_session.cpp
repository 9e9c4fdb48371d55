#include "support/made_up_session.h"

#include <fmt/core.h>

#include <memory>

#include "symbols/recorded_module.h"

namespace refhist {

namespace {
constexpr std::size_t kDepth = 16;
constexpr Address kModule = 0x7f0000000000;
constexpr Address kHeap = 0x555500000000;
}  // namespace

MadeUpSession::MadeUpSession() : MadeUpSession(Shape{}) {}

MadeUpSession::MadeUpSession(Shape shape) : shape_(shape) {
  auto module =
      std::make_shared<RecordedModule>(RecordedModule::Identity{"/usr/lib/libmade.so", "00", "", true});
  for (Address pc = 0; pc < shape_.stacks * kDepth; ++pc)
    module->add_frame(16 * pc, SourceFrame{fmt::format("function_{}", pc), "made.c", unsigned(pc), false});
  const ModuleId id = state.modules.remember(module, kModule, kModule, kModule + 0x100000);
  TrackedFamily tracked;
  tracked.family.name = "made";
  state.families.push_back(tracked);
  for (const Role role : {Role::init, Role::get, Role::put}) {
    Site site;
    site.family = FamilyId(std::size_t{0});
    site.role = role;
    site.module = id;
    site.function = fmt::format("made_{}", role_name(role));
    sites_.push_back(state.sites.add(site));
  }
  for (std::size_t i = 0; i < shape_.stacks; ++i) {
    std::vector<StackFrame> frames;
    for (std::size_t d = 0; d < kDepth; ++d)
      frames.push_back({id, 16 * ((d < 4 ? i : i / 50) * kDepth + d) + 1, false});
    stacks_.push_back(state.history.stacks().intern(frames, false));
  }
  for (long tid = 1; tid <= 4; ++tid) threads_.push_back(state.history.thread(tid, "worker"));
}

void MadeUpSession::fill(std::size_t events, std::size_t alive, const std::function<void()>& each) {
  const std::size_t end = state.history.event_count() + events;
  while (state.history.event_count() < end) {
    each();
    if (living_.size() < alive) {
      living_.emplace_back(birth(), 1);
      continue;
    }
    const std::size_t chosen = random_() % living_.size();
    auto& [object, count] = living_[chosen];
    const bool leaked = object.index() % shape_.leak_every == 7 && count == kEventsPerObject - 1;
    if (!leaked) change(object, count++);
    if (!leaked && count != kEventsPerObject) continue;
    living_[chosen] = living_.back();
    living_.pop_back();
  }
}

Event MadeUpSession::event(ObjectId object, std::size_t site, std::size_t stack) {
  Event event;
  event.time_ns = 100 * state.history.event_count();
  event.object = object;
  event.site = sites_[site];
  event.thread = threads_[object.index() % threads_.size()];
  event.stack = stacks_[stack % stacks_.size()];
  event.after_source = CountSource::derived;
  return event;
}

ObjectId MadeUpSession::birth() {
  Object object;
  object.address = free_.empty() ? kHeap + 64 * next_++ : free_.back();
  if (!free_.empty()) free_.pop_back();
  object.family = FamilyId(std::size_t{0});
  object.size = 48;
  const ObjectId id = state.history.add_object(object);
  Event born = event(id, 0, id.index() % shape_.birthplaces);
  born.role = Role::init;
  born.after = 1;
  state.history.set_born(id, state.history.add_event(born));
  state.history.object(id).ledger = 1;
  return id;
}

void MadeUpSession::change(ObjectId id, std::size_t count) {
  const bool get = count % 2 == 1 && count + 1 < kEventsPerObject;
  Object& object = state.history.object(id);
  Event changed = event(id, get ? 1 : 2, id.index() * 7 + count);
  changed.role = get ? Role::get : Role::put;
  changed.before = object.ledger;
  object.ledger += get ? 1 : -1;
  changed.after = object.ledger;
  const EventId at = state.history.add_event(changed);
  if (object.ledger > 0) return;
  object.state = ObjectState::dead;
  object.died = at;
  free_.push_back(object.address);
}

}  // namespace refhist
