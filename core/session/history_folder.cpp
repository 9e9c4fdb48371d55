#include "session/history_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "analysis/clean_profiles.h"
#include "analysis/growth.h"
#include "analysis/leaks.h"
#include "base/error.h"

namespace refhist {

namespace {

constexpr std::size_t kBetweenLooks = 1U << 16U;  // events
constexpr std::size_t kWorthFolding = 1U << 18U;  // events: fewer are kept whole
constexpr std::size_t kRecent = 1'000'000;        // events that `keep suspect` leaves alone, at most
constexpr std::size_t kMoments = 128;             // of the past, for `usage`
constexpr std::size_t kBytesOfEvent = 8;

EventId end_of(const Object& object) { return object.died.valid() ? object.died : object.last_event; }

/// Events between moments of the past that are remembered.
std::size_t stride_of(std::size_t events) {
  return std::bit_ceil(std::max<std::size_t>(events / kMoments, 1));
}

}  // namespace

void HistoryFolder::fold_when_due() {
  const std::size_t events = state_.history.event_count();
  if (events + kBetweenLooks < look_again_) look_again_ = fold_at_ = 0;  // the history has begun anew
  if (events < look_again_ || state_.opened) return;
  look_again_ = events + kBetweenLooks;
  const bool bounded = state_.keep != Keep::all || state_.memory_limit != 0;
  if (!bounded || events == 0) return;
  try {
    if (state_.keep != Keep::all && state_.history.log().kept() >= std::max(fold_at_, kWorthFolding))
      fold_now();
    if (state_.memory_limit != 0 && state_.memory() > state_.memory_limit) keep_to_limit();
  } catch (const Error& error) {  // interrupted, or names that could not be read: all is as it was
    look_again_ = events + 4 * kBetweenLooks;
  }
}

void HistoryFolder::apply_options() {
  if (state_.keep == keep_ && state_.memory_limit == memory_limit_) return;
  keep_ = state_.keep;
  memory_limit_ = state_.memory_limit;
  state_.over_limit = false;
  fold_now();
  look_again_ = 0;
  fold_when_due();
}

void HistoryFolder::fold_now() {
  if (state_.keep == Keep::all || state_.opened) return;
  const std::size_t events = state_.history.event_count();
  Choice choice;
  choice.clean = true;
  choice.early = state_.keep == Keep::suspect;
  choice.recent = EventId(events - std::min(events / 2, kRecent));
  fold(choice);
  fold_at_ = 3 * state_.history.log().kept();
}

// The oldest dead first. What cannot be kept any longer after that are the early events of those that live,
// and last the dead at whose addresses nothing has been since.
void HistoryFolder::keep_to_limit() {
  state_.folded.by_limit = true;
  const auto too_much = [this] { return state_.memory() > state_.memory_limit; };
  while (too_much() && fold_oldest(false)) continue;  // how much a fold gives back is an estimate
  if (too_much()) {
    Choice choice;
    choice.early = true;
    choice.recent = EventId(state_.history.event_count());
    fold(choice);
  }
  while (too_much() && fold_oldest(true)) continue;
  state_.over_limit = too_much();
  // What is left cannot be folded: trying again soon would only take time.
  if (state_.over_limit)
    look_again_ = state_.history.event_count() + std::max(kBetweenLooks, state_.history.log().kept() / 4);
}

bool HistoryFolder::fold_oldest(bool last_ones) {
  const std::uint64_t wanted = state_.memory_limit - state_.memory_limit / 8;
  Choice choice;
  choice.clean = true;
  choice.last_ones = last_ones;
  mark(choice);
  std::vector<std::pair<EventId, std::size_t>> ended;
  for (const auto& [id, object] : state_.history.objects()) {
    if (state_.history.objects().fold(id) == Fold::gone)
      ended.emplace_back(end_of(object), sizeof(Object) + object.events * kBytesOfEvent);
  }
  std::sort(ended.begin(), ended.end());
  std::uint64_t left = state_.memory();
  for (const auto& [end, bytes] : ended) {
    if (left <= wanted) break;
    left -= std::min<std::uint64_t>(left, bytes);
    choice.died_before = EventId(end.value + 1);
  }
  return choice.died_before.valid() && fold(choice);
}

std::size_t HistoryFolder::mark(const Choice& choice) {
  const std::unordered_set<ObjectId> wrong = blamed_objects(state_.history);
  std::unordered_set<ObjectId> used = state_.recorder.objects_in_calls();
  used.insert(wrong.begin(), wrong.end());
  const EventId settled = state_.recorder.oldest_watched();  // what happens inside is counted at the return
  std::size_t marked = 0;
  for (const auto& [id, object] : state_.history.objects()) {
    Fold how = Fold::nothing;
    const bool clean = choice.clean && object.last_event < settled && released_clean(id, object, used);
    const bool in_time = !choice.died_before.valid() || end_of(object) < choice.died_before;
    // Even in the middle of a call: what that watches is newer than `settled`, and no older event is needed.
    // An object that many threads share is never out of calls.
    const bool sound = object.complete && object.base_known && !object.moved_unobserved &&
                       object.state != ObjectState::unknown && !wrong.contains(id);
    if (clean && in_time && (object.superseded || choice.last_ones)) {
      how = Fold::gone;
    } else if (choice.early && sound && object.events > 2) {
      how = Fold::early;
    }
    state_.history.set_fold(id, how);
    marked += how == Fold::nothing ? 0 : 1;
  }
  return marked;
}

// Moments of the past, from the last time on: how many lived then cannot be counted later.
void HistoryFolder::note_moments() {
  FoldedPlaces& folded = state_.folded;
  const std::size_t now = state_.history.event_count();
  std::size_t begin = folded.until.valid() ? folded.until.index() : 0;
  // A fold that was broken off may have noted some already.
  if (!folded.moments.empty()) begin = std::max(begin, folded.moments.back().index() + 1);
  const std::size_t stride = stride_of(now);
  std::vector<EventId> fresh;
  for (std::size_t at = (begin + stride - 1) / stride * stride; at < now; at += stride)
    fresh.emplace_back(at);
  for (const Snapshot& snapshot : state_.snapshots) {
    if (snapshot.moment.index() >= begin && snapshot.moment.index() < now) fresh.push_back(snapshot.moment);
  }
  std::sort(fresh.begin(), fresh.end());
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  Birthplaces births(state_.history, state_.sites, state_.namer);
  for (const PlaceUsage& usage : usage_at(state_.history, births, folded, fresh)) {
    FoldedPlace& place = folded.of(*usage.place);
    place.peak = usage.usage.peak;
    place.live.insert(place.live.end(), usage.over_time.begin(), usage.over_time.end());
  }
  folded.moments.insert(folded.moments.end(), fresh.begin(), fresh.end());
  folded.thin([&](EventId moment) {
    return moment.index() % stride == 0 ||
           std::any_of(state_.snapshots.begin(), state_.snapshots.end(),
                       [&](const Snapshot& snapshot) { return snapshot.moment == moment; });
  });
}

bool HistoryFolder::fold(const Choice& choice) {
  if (mark(choice) == 0) return false;
  if (choice.clean) {
    note_moments();
    Birthplaces births(state_.history, state_.sites, state_.namer);
    CleanProfiles(state_.history, state_.namer, state_.folded).add_to(births);
    state_.folded.until = EventId(state_.history.event_count());
  }
  state_.history.fold(choice.early ? std::min(choice.recent, state_.recorder.oldest_watched()) : EventId(0U));
  forget_gone();
  return true;
}

void HistoryFolder::forget_gone() {
  const auto gone = [this](const auto& entry) { return !state_.history.objects().contains(entry.first); };
  std::erase_if(state_.scan.objects, gone);
  state_.managed.forget_if([this](ObjectId id) { return !state_.history.objects().contains(id); });
}

}  // namespace refhist
