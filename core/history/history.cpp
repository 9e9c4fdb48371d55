#include "history/history.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace refhist {

namespace {
constexpr std::array<std::pair<Verdict, std::string_view>, 9> kVerdicts{{
    {Verdict::leak, "leak"},
    {Verdict::over_put, "over-put"},
    {Verdict::use_after_free, "use-after-free"},
    {Verdict::resurrection, "resurrection"},
    {Verdict::free_while_referenced, "free-while-referenced"},
    {Verdict::unobserved_change, "unobserved-change"},
    {Verdict::undecidable, "undecidable"},
    {Verdict::held, "held"},
    {Verdict::second_owner, "second-owner"},
}};
}  // namespace

std::string_view verdict_name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)].second; }

std::optional<Verdict> verdict_from_name(std::string_view name) {
  for (const auto& [verdict, text] : kVerdicts) {
    if (text == name) return verdict;
  }
  return std::nullopt;
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (const auto& entry : kVerdicts) names.emplace_back(entry.second);
  return names;
}

ObjectId History::add_object(Object object) {
  const ObjectId id(objects_.size());
  object.generation = 1;
  object.earlier = object.beside = ObjectId();
  const auto [entry, first] = newest_.try_emplace(object.address, id);
  ObjectId* place = &entry->second;  // where the newest one of the family is named
  while (!first && place->valid() && objects_[*place].family != object.family)
    place = &objects_[*place].beside;
  if (!first && place->valid()) {
    Object& earlier = objects_[*place];
    earlier.superseded = true;
    object.generation = earlier.generation + 1;
    object.earlier = *place;
    object.beside = std::exchange(earlier.beside, ObjectId());
  }
  *place = id;
  recent_at(object.address) = {object.address, object.family, id};
  if (!object.complete) ++doubts_of(object.family).incomplete;
  return objects_.add(object);
}

void History::set_born(ObjectId id, EventId event) {
  Object& object = objects_[id];
  object.born = event;
  object.birth_origin = events_.origin_of(event);
}

std::vector<std::pair<EventId, Event>> History::life_of(ObjectId id) const {
  std::vector<std::pair<EventId, Event>> life(listed_events(id));
  auto place = life.rbegin();
  read_back(id, [&](const EventLog::Entry& entry) { *place++ = {entry.id, entry.event}; });
  return life;
}

std::size_t History::listed_events(ObjectId id) const {
  const FoldedEvents* folded = folded_events(id);
  return object(id).events - (folded == nullptr ? 0 : folded->count());
}

const EventLog::Entry& History::damaged_chain() {
  fail("the file is damaged: an object's events do not belong to it");
}

// Where the objects lie far apart, nearly all of the time is waiting for memory: several are waited for at
// once.
void History::read_lives(std::span<const ObjectId> ids,
                         const std::function<void(std::size_t, const EventLog::Entry&)>& told) const {
  constexpr std::size_t kTogether = 24;
  for (std::size_t from = 0; from < ids.size(); from += kTogether) {
    struct Reading {
      std::size_t index;
      EventId next;
    };
    std::vector<Reading> reading;
    for (std::size_t i = from; i < std::min(from + kTogether, ids.size()); ++i)
      reading.push_back({i, object(ids[i]).last_event});
    const auto drop_read = [&] {
      std::erase_if(reading, [](const Reading& one) { return !one.next.valid(); });
    };
    for (drop_read(); !reading.empty(); drop_read()) {
      for (const Reading& one : reading) events_.expect_place(one.next);
      for (const Reading& one : reading) events_.expect(one.next);
      for (Reading& one : reading) {
        const EventLog::Entry entry = events_.at(one.next);
        if (entry.event.object != ids[one.index]) damaged_chain();
        told(one.index, entry);
        one.next = entry.previous;
      }
    }
  }
}

const std::string& History::note(ObjectId id) const {
  static const std::string kNone;
  const auto found = notes_.find(id);
  return found == notes_.end() ? kNone : found->second;
}

std::int64_t History::before_seen(ObjectId id) const {
  const auto found = before_seen_.find(id);
  return found == before_seen_.end() ? 0 : found->second;
}

void History::set_before_seen(ObjectId id, std::int64_t references) {
  if (references == 0) {
    before_seen_.erase(id);
  } else {
    before_seen_[id] = references;
  }
}

ThreadIndex History::thread(long tid, const std::string& name) {
  const auto is = [&](const Thread& thread) {
    return thread.tid == tid && (name.empty() || thread.name == name);
  };
  if (last_thread_.valid() && is(threads_[last_thread_.index()])) return last_thread_;
  if (std::string line = one_line(name); line != name) return thread(tid, line);
  const auto [entry, added] = newest_thread_.try_emplace(tid, ThreadIndex(threads_.size()));
  last_thread_ = entry->second;
  if (!added && is(threads_[last_thread_.index()])) return last_thread_;
  last_thread_ = entry->second = ThreadIndex(threads_.size());
  threads_.push_back(Thread{tid, name});
  return last_thread_;
}

ObjectId History::find_newest_at(FamilyId family, Address address) const {
  const auto found = newest_.find(address);
  ObjectId id = found == newest_.end() ? ObjectId() : found->second;
  while (id.valid() && object(id).family != family) id = object(id).beside;
  recent_at(address) = {address, family, id};
  return id;
}

std::vector<ObjectId> History::all_at(Address address) const {
  std::vector<ObjectId> result;
  const auto found = newest_.find(address);
  ObjectId family = found == newest_.end() ? ObjectId() : found->second;
  for (; family.valid(); family = object(family).beside) {
    for (ObjectId id = family; id.valid(); id = object(id).earlier) result.push_back(id);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<ObjectId> History::starting_in(Address begin, Address end) const {
  std::vector<ObjectId> result;
  for (auto entry = newest_.lower_bound(begin); entry != newest_.end() && entry->first < end; ++entry) {
    for (ObjectId id = entry->second; id.valid(); id = object(id).beside) result.push_back(id);
  }
  return result;
}

std::vector<ObjectId> History::containing(Address address) const {
  std::vector<ObjectId> result;
  for (const auto& [id, object] : objects_) {
    const bool inside = object.address <= address && address < object.address + object.size;
    if (object.address == address || inside) result.push_back(id);
  }
  std::stable_sort(result.begin(), result.end(),
                   [this](ObjectId a, ObjectId b) { return objects_[a].address > objects_[b].address; });
  return result;
}

void History::restore(EventLog events, StackTable stacks, std::vector<Thread> threads, EventId lost_from) {
  clear();
  events_ = std::move(events);
  stacks_ = std::move(stacks);
  threads_ = std::move(threads);
  lost_from_ = lost_last_ = lost_from;
}

std::size_t History::bytes() const {
  constexpr std::size_t kTreeNode = 4 * sizeof(void*);
  std::size_t folded = 0;
  for (const auto& [id, events] : folded_)
    folded += 4 * sizeof(void*) + sizeof(FoldedEvents) + events.by_origin.capacity() * sizeof(std::uint64_t);
  return events_.bytes() + objects_.bytes() + folded + stacks_.bytes() +
         newest_.size() * (kTreeNode + sizeof(std::pair<Address, ObjectId>));
}

History::Doubts& History::doubts_of(FamilyId family) {
  if (doubts_.size() <= family.index()) doubts_.resize(family.index() + 1);
  return doubts_[family.index()];
}

void History::set_complete(ObjectId id, bool complete) {
  Object& of = object(id);
  if (of.complete == complete) return;
  of.complete = complete;
  doubts_of(of.family).incomplete += complete ? -1 : 1;
}

ObjectId History::withdraw_finding(const std::function<bool(const Finding&)>& is_it) {
  constexpr std::ptrdiff_t kNewest = 64;
  const auto last = findings_.rbegin() + std::min(kNewest, std::ssize(findings_));
  const auto found = std::find_if(findings_.rbegin(), last, is_it);
  if (found == last) return {};
  const ObjectId object = found->object;
  findings_.erase(std::next(found).base());
  return object;
}

bool History::births_in_doubt(FamilyId family) const {
  if (lost()) return true;
  return family.index() < doubts_.size() &&
         (doubts_[family.index()].incomplete != 0 || doubts_[family.index()].unseen);
}

void History::clear() { *this = History(); }

}  // namespace refhist
