#include "history/history.h"

#include <algorithm>
#include <array>
#include <utility>

namespace refhist {

namespace {
constexpr std::array<std::pair<Verdict, std::string_view>, 7> kVerdicts{{
    {Verdict::leak, "leak"},
    {Verdict::over_put, "over-put"},
    {Verdict::use_after_free, "use-after-free"},
    {Verdict::resurrection, "resurrection"},
    {Verdict::free_while_referenced, "free-while-referenced"},
    {Verdict::unobserved_change, "unobserved-change"},
    {Verdict::undecidable, "undecidable"},
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
  Place& place = by_address_[object.address];
  const auto earlier = std::find_if(place.newest.begin(), place.newest.end(), [&](ObjectId other) {
    return objects_[other.index()].family == object.family;
  });
  if (earlier == place.newest.end()) {
    object.generation = 1;
    place.newest.push_back(id);
  } else {
    object.generation = objects_[earlier->index()].generation + 1;
    *earlier = id;
  }
  place.all.push_back(id);
  if (!object.complete) ++doubts_of(object.family).incomplete;
  objects_.push_back(std::move(object));
  return id;
}

EventId History::add_event(const Event& event) {
  const EventId id(events_.size());
  events_.push_back(event);
  objects_[event.object.index()].events.push_back(id);
  return id;
}

ThreadIndex History::thread(long tid, const std::string& name) {
  const auto [entry, added] = newest_thread_.try_emplace(tid, ThreadIndex(threads_.size()));
  const bool same = !added && (name.empty() || threads_[entry->second.index()].name == name);
  if (same) return entry->second;
  entry->second = ThreadIndex(threads_.size());
  threads_.push_back(Thread{tid, name});
  return entry->second;
}

ObjectId History::newest_at(FamilyId family, Address address) const {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return {};
  for (const ObjectId id : found->second.newest) {
    if (objects_[id.index()].family == family) return id;
  }
  return {};
}

std::vector<ObjectId> History::all_at(Address address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? std::vector<ObjectId>{} : found->second.all;
}

std::vector<ObjectId> History::starting_in(Address begin, Address end) const {
  std::vector<ObjectId> result;
  for (auto entry = by_address_.lower_bound(begin); entry != by_address_.end() && entry->first < end;
       ++entry) {
    result.insert(result.end(), entry->second.newest.begin(), entry->second.newest.end());
  }
  return result;
}

std::vector<ObjectId> History::containing(Address address) const {
  std::vector<ObjectId> result;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const Object& object = objects_[i];
    const bool inside = object.address <= address && address < object.address + object.size;
    if (object.address == address || inside) result.emplace_back(i);
  }
  std::stable_sort(result.begin(), result.end(), [this](ObjectId a, ObjectId b) {
    return objects_[a.index()].address > objects_[b.index()].address;
  });
  return result;
}

std::size_t History::bytes() const {
  std::size_t total =
      events_.capacity() * sizeof(Event) + objects_.capacity() * sizeof(Object) + stacks_.bytes();
  for (const Object& object : objects_) total += object.events.capacity() * sizeof(EventId);
  return total + by_address_.size() * (sizeof(Address) + sizeof(Place) + 4 * sizeof(void*));
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

bool History::births_in_doubt(FamilyId family) const {
  return family.index() < doubts_.size() &&
         (doubts_[family.index()].incomplete != 0 || doubts_[family.index()].unseen);
}

void History::clear() { *this = History(); }

}  // namespace refhist
