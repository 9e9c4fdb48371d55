#include "analysis/event_pairs.h"

#include <algorithm>
#include <cmath>

#include "analysis/assignment.h"

namespace refhist {

namespace {

constexpr std::size_t kMostPaired = 200;  // of an object: the time goes with their third power
constexpr std::size_t kMostRead = 10000;
constexpr int kLearnRounds = 3;
constexpr double kNever = 30;         // a put that came before the get
constexpr double kUnanswered = 40;    // a put that answers nothing: only where there are more puts than gets
constexpr double kNewPut = 3;         // of one too many: by a function that gave back none of the kind before
constexpr double kNewPutPlace = 1.5;  // of one too many: where nothing was ever given back before
constexpr double kApart = 0.02;       // what lies between counts little: it decides among equals
constexpr double kNewPlace = 0.5;     // a call of the same kind elsewhere was given back, never one from here

// How likely a put answers a get before anything was learned.
constexpr double kSameCall = 0.9;   // by the same function in the same call
constexpr double kOuterCall = 0.8;  // by a function that was running when it was taken
constexpr double kInnerCall = 0.4;  // by one that was called with it
constexpr double kEachFurther = 0.8;
constexpr double kNotHanded = 0.25;  // out of a function that leaves no pointer with its caller
constexpr double kSameFunction = 0.3;
constexpr double kOnStack = 0.1;
constexpr double kHanded = 0.3;
constexpr double kAlike = 0.3;
constexpr double kAny = 0.05;
constexpr double kOtherWay = 0.6;      // one by a library's function, the other one not
constexpr double kOtherSlot = 0.1;     // kept in one member, and given back from another one
constexpr double kSomeSlot = 0.8;      // one of an array's, or that member
constexpr double kNoSlot = 0.7;        // of one of both it is not known in which
constexpr double kOtherHolder = 0.15;  // kept in memory and given back out of a variable, or the other way

/// A constructor may leave it to others to take the first one, or make several.
std::size_t references_of(const Event& event) {
  constexpr std::int64_t kMost = 4;
  return event.role == Role::init
             ? static_cast<std::size_t>(std::clamp<std::int64_t>(event.after.value_or(1), 0, kMost))
             : 1;
}

template <class Map>
double number_in(const Map& counts, const typename Map::key_type& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

std::uint32_t EventPairs::kind_of(const CallPath& path, Role role) {
  const auto next = static_cast<std::uint32_t>(kinds_.size());
  const std::tuple kind(path.steps.front().function, path.by_library, role == Role::init);
  const auto [entry, added] = kinds_.try_emplace(kind, next);
  const std::uint32_t number = entry->second;
  if (added) functions_.push_back(path.steps.front().function);
  if (role == Role::init) births_.insert(number);
  return number;
}

// A constructor that begins with a get: its init event tells of the same reference.
void EventPairs::take_out_told_twice(const Object& object, bool born_here, std::size_t born, Life& life) {
  if (!born_here || !object.base_known || object.moved_unobserved) return;
  const auto more = static_cast<std::int64_t>(life.gets.size()) - static_cast<std::int64_t>(life.puts.size());
  if (more <= object.ledger) return;
  std::erase_if(life.gets, [&](const Call& get) { return get.order < born; });
}

// What a call of a function takes, or calls for, and gives back before anything else happens to the object,
// as main loops do a thousand times.
std::size_t EventPairs::take_out_at_once(std::vector<std::pair<EventId, Event>>& events) {
  constexpr std::size_t kMostCalledFor = 3;  // frames
  const std::size_t all = events.size();
  std::vector<std::pair<EventId, Event>> left;
  for (auto& one : events) {
    const Event& event = one.second;
    const bool answers = gives_back(event) && !left.empty() && left.back().second.role != Role::init &&
                         acquires(left.back().second) && left.back().second.thread == event.thread;
    const auto relation =
        answers ? CallPaths::relation(paths_.of(left.back().second), paths_.of(event)) : std::nullopt;
    if (relation && relation->same_call && relation->get <= kMostCalledFor && relation->put == 0) {
      left.pop_back();
    } else {
      left.push_back(std::move(one));
    }
  }
  events = std::move(left);
  return (all - events.size()) / 2;
}

std::optional<EventPairs::Life> EventPairs::life_of(ObjectId id) {
  if (history_.folded_events(id) != nullptr || history_.listed_events(id) > kMostRead) return std::nullopt;
  const Object& object = history_.object(id);
  std::vector<std::pair<EventId, Event>> events;
  history_.read_back(id, [&](const EventLog::Entry& entry) {
    if (acquires(entry.event) || gives_back(entry.event)) events.emplace_back(entry.id, entry.event);
  });
  std::reverse(events.begin(), events.end());
  Life life;
  if (events.size() > kMostPaired) life.at_once = take_out_at_once(events);
  if (events.size() > kMostPaired || history_.before_seen(id) > 1) return std::nullopt;
  for (std::int64_t i = history_.before_seen(id); i > 0; --i)
    life.gets.push_back({0, EventId(), Event(), &before_seen_, kind_of(before_seen_, Role::init)});
  bool born_here = false;
  std::size_t born = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& [event_id, event] = events[i];
    const CallPath& path = paths_.of(event);
    std::vector<Call>& calls = gives_back(event) ? life.puts : life.gets;
    calls.insert(
        calls.end(), references_of(event),
        {i + 1, event_id, event, &path, kind_of(path, event.role), !gives_back(event) && life.gets.empty()});
    if (event_id == object.born && event_id != object.first_event && event.role == Role::init) {
      born_here = true;
      born = i + 1;
    }
  }
  take_out_told_twice(object, born_here, born, life);
  mark_own(life);
  return life;
}

EventPairs::Partner EventPairs::partner(const Call& get, const Call& put) {
  const auto relation = CallPaths::relation(*get.path, *put.path);
  if (relation && relation->same_call) return {true, relation->get, relation->put, 0};
  return {false, 0, 0, put.kind};
}

// What a function was given by its caller it had before it called for another reference that is kept
// elsewhere.
double EventPairs::same_holder(const Call& get, const Call& put,
                               const std::optional<CallPaths::Relation>& relation) {
  const Held kept = get.path->held;
  const Held given = put.own ? Held::local : put.path->held;
  if (kept == Held::memory && given == Held::memory) {
    const auto& to = get.path->slot;
    const auto& from = put.path->slot;
    if (!to || !from) return to || from ? kNoSlot : 1;
    if (in_one_slot(get, put)) return 1;
    if (to->holder != from->holder) return kOtherSlot;
    return to->member == 0 || from->member == 0 ? kSomeSlot : kOtherSlot;
  }
  if (kept == Held::unknown || given == Held::unknown) return 1;
  const bool had_before = given == Held::argument && relation && relation->same_call && relation->put == 0;
  if (given == Held::argument && !had_before) return 1;
  return (kept == Held::memory) != (given == Held::memory) ? kOtherHolder : 1;
}

// What walks a list, takes a reference to what it finds and gives it back, has the pointer from the list. Its
// put gives back its own reference, not the list's.
void EventPairs::mark_own(Life& life) {
  const auto of_call = [](const Call& call, const Call& put) -> std::optional<CallPaths::Relation> {
    const auto relation = CallPaths::relation(*call.path, *put.path);
    if (call.order >= put.order || !relation || !relation->same_call || relation->put != 0) return {};
    return relation;
  };
  for (Call& put : life.puts) {
    const Call* last = nullptr;
    for (const std::vector<Call>* calls : {&life.gets, &life.puts}) {
      for (const Call& call : *calls) {
        if (of_call(call, put) && (last == nullptr || last->order < call.order)) last = &call;
      }
    }
    if (last == nullptr || last->first || gives_back(last->event) || last->path->held == Held::memory)
      continue;
    const auto inner = last->path->steps.begin();
    put.own = std::none_of(inner, inner + static_cast<std::ptrdiff_t>(of_call(*last, put)->get),
                           [](const CallPath::Step& step) { return step.hands_nothing_out; });
  }
}

bool EventPairs::in_one_slot(const Call& get, const Call& put) {
  if (put.own) return false;
  const auto same = [](const auto& one, const auto& other) { return one && other && *one == *other; };
  return same(get.path->slot, put.path->slot) || same(get.path->slot, put.path->inner) ||
         same(get.path->inner, put.path->slot);
}

double EventPairs::likely_before(const Call& get, const Call& put) {
  const auto relation = CallPaths::relation(*get.path, *put.path);
  const double way =
      (get.path->by_library == put.path->by_library ? 1 : kOtherWay) * same_holder(get, put, relation);
  if (relation && relation->same_call) {
    const std::size_t apart = relation->get + relation->put;
    const double likely = apart == 0 ? kSameCall : relation->put == 0 ? kOuterCall : kInnerCall;
    const auto inner = get.path->steps.begin();
    const bool kept = std::any_of(inner, inner + static_cast<std::ptrdiff_t>(relation->get),
                                  [](const CallPath::Step& step) { return step.hands_nothing_out; });
    return way * likely * std::pow(kEachFurther, static_cast<double>(apart)) * (kept ? kNotHanded : 1);
  }
  if (relation) return way * (relation->get == 0 ? kSameFunction : kOnStack);
  const std::uint32_t taker = get.path->steps.front().function;
  const std::uint32_t giver = put.path->steps.front().function;
  const auto [known, added] = alike_.try_emplace({taker, giver});
  if (added) known->second = pairs_.likeness({paths_.name_of(taker), paths_.name_of(giver)});
  const bool handed = owners_.hands_to(paths_.name_of(taker), paths_.name_of(giver));
  return way * std::max({kAny, handed ? kHanded : 0, kAlike * known->second});
}

double EventPairs::cost(const Model& model, const Call& get, const Call& put) {
  if (put.order < get.order) return kNever;
  const bool birth = get.event.role == Role::init;
  const Partner with = partner(get, put);
  const double before = likely_before(get, put);
  const double puts = number_in(model.puts, put.kind) + 1;
  const double role_partner =
      (number_in(model.role_partners, {birth, with}) + before) / (number_in(model.roles, birth) + 1);
  const double role_kind = (number_in(model.role_kinds, {birth, put.kind}) + before) / puts;
  const double of_get =
      (number_in(model.partners, {get.kind, with}) + role_partner) / (number_in(model.gets, get.kind) + 1);
  // What was never seen given back, as what a rare way takes, is as good as any of its role.
  const bool known = model.gets.contains(get.kind);
  const double of_put = known ? (number_in(model.kinds, {get.kind, put.kind}) + role_kind) / puts : role_kind;
  const double apart = kApart * std::log(static_cast<double>(put.order - get.order));
  // Of the put at this very place; a function may give back in several, each another reference.
  const Address given_at = put.path->steps.front().pc;
  const double at_place = (number_in(model.at_places, {get.kind, given_at}) + of_put) /
                          (number_in(model.put_places, given_at) + 1);
  const bool elsewhere = known && !model.places.contains(get.path->steps.front().pc);
  return -std::log(of_get) - std::log(at_place) + (get.first ? -apart : apart) + (elsewhere ? kNewPlace : 0);
}

std::vector<std::size_t> EventPairs::match(const Model& model, const Life& life, std::size_t more) {
  std::vector<std::vector<double>> costs(life.puts.size());
  const bool too_many = life.puts.size() + more > life.gets.size();
  for (std::size_t row = 0; row < life.puts.size(); ++row) {
    const Call& put = life.puts[row];
    const bool is_new = too_many && !model.puts.contains(put.kind);
    const bool new_place = too_many && !model.put_places.contains(put.path->steps.front().pc);
    for (const Call& get : life.gets) {
      const bool known = model.gets.contains(get.kind);
      const double more_likely = is_new ? kNewPut : new_place ? kNewPutPlace : 0;
      // Whoever gives back what lies where it was put is new only because the program has never come so far.
      costs[row].push_back(cost(model, get, put) + (known && !in_one_slot(get, put) ? more_likely : 0));
    }
    costs[row].resize(life.gets.size() + life.puts.size() + more, kUnanswered);
  }
  for (; more > 0 && !life.puts.empty(); --more) {
    costs.emplace_back(life.gets.size(), 0);
    costs.back().resize(costs.front().size(), kUnanswered);
  }
  std::vector<std::size_t> answers = cheapest_assignment(costs);
  answers.resize(life.puts.size());
  return answers;
}

EventPairs::Model EventPairs::learn(const std::vector<std::pair<Life, double>>& lives, const Model& before) {
  Model model;
  model.lives = lives.size();
  for (const auto& [life, weight] : lives) {
    const std::vector<std::size_t> answers = match(before, life);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] >= life.gets.size()) continue;
      const Call& get = life.gets[answers[i]];
      const Call& put = life.puts[i];
      model.gets[get.kind] += weight;
      model.places.insert(get.path->steps.front().pc);
      model.put_places[put.path->steps.front().pc] += weight;
      model.put_lines.insert(line_of(put.event, *put.path));
      model.at_places[{get.kind, put.path->steps.front().pc}] += weight;
      model.puts[put.kind] += weight;
      model.partners[{get.kind, partner(get, put)}] += weight;
      model.kinds[{get.kind, put.kind}] += weight;
      const bool birth = get.event.role == Role::init;
      model.roles[birth] += weight;
      model.role_partners[{birth, partner(get, put)}] += weight;
      model.role_kinds[{birth, put.kind}] += weight;
    }
  }
  return model;
}

// Where calls took and gave back, until the last one was given back; in order of address.
std::vector<Address> EventPairs::calls_to_zero(const Life& life) {
  const auto last =
      std::find_if(life.puts.begin(), life.puts.end(), [](const Call& put) { return put.event.after == 0; });
  if (last == life.puts.end()) return {};
  std::vector<Address> calls;
  for (const std::vector<Call>* some : {&life.gets, &life.puts}) {
    for (const Call& call : *some) {
      if (call.order <= last->order) calls.push_back(call.path->steps.front().pc);
    }
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

const EventPairs::Model& EventPairs::model_of(const ReferencePairs::Subject& subject,
                                              const std::vector<Address>& without) {
  const auto [entry, added] = models_.try_emplace({subject, without});
  if (!added) return entry->second;
  std::vector<std::pair<Life, double>> lives;
  double all = 0;
  double left = 0;
  for (const auto& [id, weight] : sample_(subject)) {
    auto life = life_of(id);
    const bool whole = life && !life->gets.empty() && life->gets.size() == life->puts.size();
    if (!whole || life->gets.size() > kMostPaired / 4) continue;
    all += weight;
    if (!without.empty() && calls_to_zero(*life) == without) continue;
    left += weight;
    lives.emplace_back(std::move(*life), weight);
  }
  if (left * 2 < all) return entry->second = model_of(subject);  // it is the usual way
  Model model;
  for (int round = 0; round < kLearnRounds; ++round) model = learn(lives, model);
  return entry->second = std::move(model);
}

// What went the same way to its end as one that was put once more may have the same mistake, of which nobody
// has been told yet.
const EventPairs::Model& EventPairs::model_for(ObjectId id, const Life& life) {
  const bool too_many = life.puts.size() > life.gets.size();
  return model_of(pairs_.subject_of(id), too_many ? calls_to_zero(life) : std::vector<Address>());
}

// Of several puts by one call of a function, the first ones are those that had a reference to give back:
// unless such a one is never given back there.
void EventPairs::leave_last_of_equals(const Model& model, const Life& life,
                                      std::vector<std::size_t>& answers) {
  const auto usual = [&](std::size_t put) {
    return model.put_places.contains(life.puts[put].path->steps.front().pc);
  };
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] < life.gets.size()) continue;
    for (std::size_t later = answers.size() - 1; later > i; --later) {
      const auto relation = CallPaths::relation(*life.puts[i].path, *life.puts[later].path);
      const bool equal = relation && relation->same_call && relation->get == 0 && relation->put == 0;
      if (!equal || answers[later] >= life.gets.size() || (!usual(i) && usual(later))) continue;
      std::swap(answers[i], answers[later]);
      break;
    }
  }
}

std::optional<EventPairs::References> EventPairs::references(ObjectId id) {
  const auto life = life_of(id);
  if (!life) return std::nullopt;
  const Model& model = model_for(id, *life);
  std::vector<std::size_t> answers = match(model, *life);
  leave_last_of_equals(model, *life, answers);
  References references;
  references.at_once = life->at_once;
  references.learned_from = model.lives;
  for (const Call& get : life->gets) references.all.push_back({get.id, EventId()});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const EventId put = life->puts[i].id;
    if (answers[i] < life->gets.size()) {
      references.all[answers[i]].given_back = put;
    } else {
      references.given_back.push_back(put);
    }
  }
  return references;
}

std::optional<EventId> EventPairs::put_for_another(ObjectId id) {
  const EventId died = history_.object(id).died;
  auto life = life_of(id);
  if (!life || !died.valid()) return std::nullopt;
  const auto later = [&](const Call& call) { return call.id.valid() && died < call.id; };
  std::erase_if(life->gets, later);
  std::erase_if(life->puts, later);
  const Model& model = model_of(pairs_.subject_of(id));
  std::vector<std::size_t> answers = match(model, *life, 1);
  leave_last_of_equals(model, *life, answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] >= life->gets.size()) return life->puts[i].id;
  }
  return std::nullopt;
}

std::optional<EventId> EventPairs::left_over_before(const Life& first, const Life& second,
                                                    const Model& model) {
  Life both = first;
  const auto append = [](std::vector<Call>& calls, const std::vector<Call>& more) {
    for (Call call : more) {
      call.order += 2 * kMostPaired;
      calls.push_back(call);
    }
  };
  append(both.gets, second.gets);
  append(both.puts, second.puts);
  const std::vector<std::size_t> answers = match(model, both);
  for (std::size_t i = 0; i < first.puts.size(); ++i) {
    if (answers[i] >= both.gets.size()) return both.puts[i].id;
  }
  return std::nullopt;
}

std::optional<EventId> EventPairs::extra_put_before(ObjectId id) {
  constexpr int kEarlier = 4;  // objects
  const auto life = life_of(id);
  if (!life || life->puts.size() <= life->gets.size()) return std::nullopt;
  const Model& model = model_of(pairs_.subject_of(id));
  ObjectId before = history_.object(id).earlier;
  for (int i = 0; i < kEarlier && before.valid() && history_.objects().contains(before); ++i) {
    const auto earlier = life_of(before);
    const bool whole = earlier && !earlier->gets.empty() && earlier->gets.size() == earlier->puts.size();
    if (whole) {
      if (const auto put = left_over_before(*earlier, *life, model)) return put;
    }
    before = history_.object(before).earlier;
  }
  return std::nullopt;
}

std::optional<EventPairs::Unpaired> EventPairs::unpaired(ObjectId id) {
  auto known = references(id);
  if (!known || known->all.empty()) return std::nullopt;
  Unpaired left;
  left.given_back = std::move(known->given_back);
  for (const Reference& reference : known->all) {
    if (reference.given_back.valid()) continue;
    if (reference.taken.valid()) {
      left.taken.push_back(reference.taken);
    } else {
      ++left.before_seen;
    }
  }
  return left;
}

// Of calls of that kind, else of all that are of the same role: how far out the family's references are held.
std::optional<EventPairs::Holder> EventPairs::usual_holder(const Event& taken) {
  const Model& model = model_of(pairs_.subject_of(taken.object));
  const std::uint32_t kind = kind_of(paths_.of(taken), taken.role);
  const bool known = model.gets.contains(kind);
  const bool birth = taken.role == Role::init;
  double all = 0;
  std::map<std::size_t, double> depths;
  const auto counts = [&](std::uint32_t other) {
    return known ? other == kind : births_.contains(other) == birth;
  };
  for (const auto& [other, times] : model.gets) all += counts(other) ? times : 0;
  for (const auto& [pair, times] : model.partners) {
    if (pair.second.same_call && counts(pair.first)) depths[pair.second.get] += times;
  }
  const auto best = std::max_element(depths.begin(), depths.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == depths.end()) return std::nullopt;
  return Holder{best->first, best->second / all};
}

ReferencePairs::Partners EventPairs::partners_of(const Event& taken) {
  const Model& model = model_of(pairs_.subject_of(taken.object));
  const std::uint32_t kind = kind_of(paths_.of(taken), taken.role);
  std::map<std::string, double> counts;
  double all = 0;
  for (const auto& [pair, times] : model.kinds) {
    if (pair.first != kind) continue;
    counts[paths_.name_of(functions_[pair.second])] += times;
    all += times;
  }
  ReferencePairs::Partners partners;
  for (const auto& [function, times] : counts) partners.emplace_back(function, times / all);
  std::stable_sort(partners.begin(), partners.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return partners;
}

std::pair<std::uint32_t, unsigned> EventPairs::line_of(const Event& event, const CallPath& path) {
  return {path.steps.front().function, owners_.of(event).frame.line};
}

bool EventPairs::is_usual_put(const Event& put) {
  const Model& model = model_of(pairs_.subject_of(put.object));
  return model.put_lines.contains(line_of(put, paths_.of(put)));
}

}  // namespace refhist
