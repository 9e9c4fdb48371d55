#include "explain/put_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analysis/owners.h"
#include "base/scratch_folder.h"
#include "explain/follow_orders.h"
#include "explain/twin_objects.h"

namespace refhist {

namespace {

constexpr std::size_t kMostMoments = 64;  // of an object
constexpr std::size_t kMostSpans = 40;    // of an object
constexpr std::size_t kMostStoreRuns = 3;

std::string function_of(SessionState& state, EventId event) {
  const std::string function = state.namer.owner(state.history.event(event)).function;
  return function.empty() ? "unknown" : function;
}

/// Those that take or give back a reference, in order.
PutCourse events_of(const SessionState& state, ObjectId id) {
  PutCourse course;
  course.object = id;
  if (!id.valid()) {
    course.why_not = kNoTwin;
    return course;
  }
  std::vector<PutMoment> all;
  state.history.read_back(id, [&](const EventLog::Entry& entry) {
    if (acquires(entry.event) || gives_back(entry.event)) all.push_back({entry.id, {}});
  });
  std::reverse(all.begin(), all.end());
  const EventId died = state.history.object(id).died;
  auto last = std::find_if(all.begin(), all.end(), [&](const PutMoment& moment) {
    const Event event = state.history.event(moment.event);
    return gives_back(event) && event.after && *event.after <= 0;
  });
  if (last == all.end() && died.valid()) {
    const auto behind =
        std::find_if(all.begin(), all.end(), [&](const PutMoment& moment) { return died < moment.event; });
    if (behind != all.begin()) last = std::prev(behind);
  }
  if (last != all.end()) {
    const auto next = std::find_if(std::next(last), all.end(), [&](const PutMoment& moment) {
      return gives_back(state.history.event(moment.event));
    });
    if (next != all.end()) course.behind = *next;
    all.erase(std::next(last), all.end());
  } else {
    course.why_not = "no put took its last reference in another run";
  }
  course.moments = std::move(all);
  if (course.moments.empty() || course.moments.size() > kMostMoments)
    course.why_not = fmt::format("it has {} gets and puts", course.moments.size());
  return course;
}

void look(SessionState& state, const SecondRun& second, std::vector<PutCourse>& courses) {
  const ScratchFolder scratch;
  FollowOrders orders(state, scratch.path());
  const auto each = [&](auto&& use) {
    for (PutCourse& course : courses) {
      if (!course.why_not.empty()) continue;
      for (PutMoment& moment : course.moments) use(course, moment);
      if (course.behind) use(course, *course.behind);
    }
  };
  each([&](PutCourse&, const PutMoment& moment) {
    orders.add(moment.event, function_of(state, moment.event), Follow::holders);
  });
  if (orders.words().empty()) return;
  second.run(orders.words());
  std::size_t number = 0;
  each([&](PutCourse& course, PutMoment& moment) {
    moment.at = orders.way(number++);
    const bool behind = course.behind && course.behind->event == moment.event;
    if (moment.at.why_not.empty()) return;
    if (behind) {
      course.behind.reset();
    } else {
      course.why_not = moment.at.why_not;
    }
  });
}

/// Runs of moments at which a word had a pointer.
void find_spans(PutCourse& course) {
  for (std::size_t i = 0; i < course.moments.size(); ++i) {
    for (const NewHolder& holder : course.moments[i].at.holders) {
      const auto known = std::find_if(course.spans.begin(), course.spans.end(), [&](const HeldSpan& span) {
        return span.word.at == holder.at && span.last + 1 == i;
      });
      if (known != course.spans.end()) {
        known->last = i;
        continue;
      }
      course.spans.push_back({holder, i, i, {}});
      if (course.spans.size() <= kMostSpans) continue;
      course.why_not = fmt::format("more than {} words of memory have pointed at it", kMostSpans);
      return;
    }
  }
}

/// Of the block that others of its words were seen in, where there is one.
NewHolder place_of(const PutCourse& course, Address word) {
  const auto beside = std::find_if(course.spans.begin(), course.spans.end(),
                                   [&](const HeldSpan& span) { return span.word.block.contains(word); });
  if (beside == course.spans.end()) return {word, fmt::format("memory at {:#x}", word), {}};
  const AddressRange& block = beside->word.block;
  return {word, fmt::format("heap block {:#x}+{:#x}", block.begin, word - block.begin), block};
}

/// Words that had the pointer between two moments only: what gave it back has cleared them first.
void find_passing(const SessionState& state, PutCourse& course) {
  for (std::size_t i = 1; i < course.moments.size(); ++i) {
    const FollowedWay& way = course.moments[i].at;
    if (!gives_back(state.history.event(course.moments[i].event))) continue;
    const Address from = way.loaded_from;
    const bool known = std::any_of(course.spans.begin(), course.spans.end(), [&](const HeldSpan& span) {
      return span.word.at == from && span.first <= i && span.last + 1 >= i;
    });
    if (from == 0 || known || is_of_stack(way.steps, from)) continue;
    if (course.spans.size() < kMostSpans) course.spans.push_back({place_of(course, from), i, i, {}});
  }
}

/// What was seen of a span's store happened before the moment at which the pointer was there.
bool is_its_own(const SessionState& state, const PutCourse& course, const HeldSpan& span,
                const FollowedWay& way) {
  return same_course(state, course.object, way) &&
         way.events < number_in_history(state, course.moments[span.first].event);
}

/// Of the span, unless it is to be asked again.
void note_store(const SessionState& state, const PutCourse& course, HeldSpan& span, FollowedWay way,
                bool last) {
  const bool busy = lacks_watchpoints(way) || way.why_not.find("it is watched already") != std::string::npos;
  if (busy && !last) return;
  if (way.why_not.empty() && !is_its_own(state, course, span, way)) {
    way.steps.clear();
    way.why_not = "what stored the pointer was not seen";
  }
  span.stored = std::move(way);
}

/// What stored the pointers, as far as the processor can watch so many at a time.
void watch(SessionState& state, const SecondRun& second, std::vector<PutCourse>& courses) {
  const auto is_open = [](const PutCourse& course, const HeldSpan& span) {
    return course.why_not.empty() && span.first > 0 && span.stored.steps.empty() &&
           span.stored.why_not.empty();
  };
  for (PutCourse& course : courses) {
    for (HeldSpan& span : course.spans) {
      if (span.first == 0) span.stored = course.moments.front().at;
    }
  }
  for (std::size_t run = 0; run < kMostStoreRuns; ++run) {
    const ScratchFolder scratch;
    FollowOrders orders(state, scratch.path());
    std::vector<std::pair<const PutCourse*, HeldSpan*>> asked;
    for (PutCourse& course : courses) {
      for (HeldSpan& span : course.spans) {
        if (!is_open(course, span)) continue;
        const EventId before = course.moments[span.first - 1].event;
        orders.add_store(before, function_of(state, before), span.word.at);
        asked.emplace_back(&course, &span);
      }
    }
    if (asked.empty()) return;
    if (!second.try_run(orders.words())) return;
    for (std::size_t i = 0; i < asked.size(); ++i)
      note_store(state, *asked[i].first, *asked[i].second, orders.way(i), run + 1 == kMostStoreRuns);
  }
}

/// The put behind the last moment has loaded the pointer from the word, which had it to the end.
bool is_put_behind(const PutCourse& course, const HeldSpan& span) {
  return span.last + 1 == course.moments.size() && course.behind &&
         course.behind->at.loaded_from == span.word.at;
}

/// The word was given the pointer once more: two spans that nothing seen lies between.
void part(const SessionState& state, PutCourse& course, std::size_t number, const FollowedWay& again) {
  for (std::size_t i = course.spans[number].first + 1; i <= course.spans[number].last; ++i) {
    if (number_in_history(state, course.moments[i].event) <= again.events) continue;
    HeldSpan later{course.spans[number].word, i, course.spans[number].last, again};
    course.spans[number].last = i - 1;
    course.spans.push_back(std::move(later));
    return;
  }
}

/// Between two puts from one word, was the pointer stored there again?
void watch_again(SessionState& state, const SecondRun& second, std::vector<PutCourse>& courses) {
  const ScratchFolder scratch;
  FollowOrders orders(state, scratch.path());
  std::vector<std::pair<PutCourse*, std::size_t>> asked;
  for (PutCourse& course : courses) {
    for (std::size_t i = 0; course.why_not.empty() && i < course.spans.size(); ++i) {
      const std::vector<EventId> puts = puts_from(state, course, course.spans[i]);
      if (puts.empty() || puts.size() + (is_put_behind(course, course.spans[i]) ? 1 : 0) < 2) continue;
      orders.add_store(puts.front(), function_of(state, puts.front()), course.spans[i].word.at);
      asked.emplace_back(&course, i);
    }
  }
  if (asked.empty() || !second.try_run(orders.words())) return;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    auto& [course, number] = asked[k];
    const FollowedWay way = orders.way(k);
    if (way.why_not.empty() && same_course(state, course->object, way)) part(state, *course, number, way);
    course->spans[number].kept = way.end == FollowedWay::End::running;
  }
}

}  // namespace

bool is_of_stack(const std::vector<FollowedStep>& stack, Address at) {
  constexpr Address kDeepest = 1U << 20U;  // bytes below the innermost frame
  return !stack.empty() && at < stack.back().frame && at + kDeepest > stack.front().frame;
}

std::vector<EventId> puts_from(const SessionState& state, const PutCourse& course, const HeldSpan& span) {
  std::vector<EventId> puts;
  for (std::size_t i = span.first; i <= span.last; ++i) {
    const PutMoment& moment = course.moments[i];
    if (moment.at.loaded_from == span.word.at && gives_back(state.history.event(moment.event)))
      puts.push_back(moment.event);
  }
  return puts;
}

std::vector<PutCourse> put_courses(SessionState& state, const std::vector<ObjectId>& objects,
                                   const SecondRun& second) {
  std::vector<PutCourse> courses;
  for (const ObjectId id : objects) courses.push_back(events_of(state, id));
  look(state, second, courses);
  for (PutCourse& course : courses) {
    if (course.why_not.empty()) find_spans(course);
    if (course.why_not.empty()) find_passing(state, course);
  }
  watch(state, second, courses);
  watch_again(state, second, courses);
  for (PutCourse& course : courses) {
    std::stable_sort(course.spans.begin(), course.spans.end(),
                     [](const HeldSpan& one, const HeldSpan& other) { return one.first < other.first; });
  }
  return courses;
}

}  // namespace refhist
