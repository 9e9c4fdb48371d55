// The object history database: every object that was seen, every event, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "families/family.h"
#include "history/event.h"
#include "history/event_log.h"
#include "history/object.h"
#include "history/object_table.h"
#include "history/stack_table.h"

namespace refhist {

enum class Verdict : std::uint8_t {
  leak,
  over_put,
  use_after_free,
  resurrection,
  free_while_referenced,
  unobserved_change,
  undecidable,
  held,
  second_owner,
};
std::string_view verdict_name(Verdict verdict);
std::optional<Verdict> verdict_from_name(std::string_view name);
std::vector<std::string> verdict_names();

/// A mistake that was seen happening. Leaks are not stored: they are what is left when one asks.
struct Finding {
  Verdict verdict = Verdict::undecidable;
  ObjectId object;
  EventId event;    ///< the event that was the mistake
  std::string why;  ///< one sentence
};

struct Thread {
  long tid = 0;
  std::string name;
};

class History {
 public:
  ObjectId add_object(Object object);  ///< sets its generation; it becomes the current one at its address
  /// It is the last one of its object.
  EventId add_event(const Event& event) {
    std::uint32_t origin = kNoOrigin;
    return add_event(event, origin);
  }
  /// `origin`: that of events of this kind, or kNoOrigin, and then it is found out.
  EventId add_event(const Event& event, std::uint32_t& origin) {
    Object& object = objects_[event.object];
    if (origin == kNoOrigin) origin = events_.origin_of(event);
    const EventId id = events_.append(event, object.last_event, origin);
    if (!object.first_event.valid()) object.first_event = id;
    object.last_event = id;
    ++object.events;
    return id;
  }
  void add_finding(Finding finding) { findings_.push_back(std::move(finding)); }
  /// One of the newest: that which was taken for a mistake was none. Its object; invalid when there is none.
  ObjectId withdraw_finding(const std::function<bool(const Finding&)>& is_it);
  /// The thread with this id and name; a renamed or reused id is another entry.
  ThreadIndex thread(long tid, const std::string& name);

  /// This event is the object's birth.
  void set_born(ObjectId id, EventId event);
  /// An object's birth was not seen, or the last of what was seen of it has a gap; or it was seen after all.
  void set_complete(ObjectId id, bool complete);
  /// Something of the family happened without an event.
  void note_unseen(FamilyId family) { doubts_of(family).unseen = true; }
  /// Events were lost before the next one that will be recorded: anything may have happened to any object.
  void note_lost() {
    lost_last_ = EventId(events_.size());
    if (!lost()) lost_from_ = lost_last_;
  }
  [[nodiscard]] bool lost() const { return lost_from_.valid(); }
  [[nodiscard]] bool lost_before(EventId event) const { return event >= lost_from_; }
  /// The first event that lost_before holds for; invalid when none were lost.
  [[nodiscard]] EventId lost_from() const { return lost_from_; }
  /// Were events lost behind this one, or right before it?
  [[nodiscard]] bool lost_since(EventId event) const { return lost_last_.valid() && lost_last_ >= event; }
  /// May births of the family be unseen? Then an object may be another one than that before at its address.
  [[nodiscard]] bool births_in_doubt(FamilyId family) const;

  /// The newest object of the family at exactly this address; invalid when none was ever seen.
  [[nodiscard]] ObjectId newest_at(FamilyId family, Address address) const {
    const Recent& recent = recent_at(address);
    const bool known = recent.address == address && recent.family == family && recent.id.valid();
    return known ? recent.id : find_newest_at(family, address);
  }
  /// All objects of all families that were ever seen at exactly this address, oldest first.
  [[nodiscard]] std::vector<ObjectId> all_at(Address address) const;
  /// The newest object of each family at each address in [begin, end), whatever became of it.
  [[nodiscard]] std::vector<ObjectId> starting_in(Address begin, Address end) const;
  /// Objects whose known extent contains the address, nearest begin first. `exact` ones come first.
  [[nodiscard]] std::vector<ObjectId> containing(Address address) const;

  /// Throws Error when it has been folded.
  Object& object(ObjectId id) { return objects_[id]; }
  [[nodiscard]] const Object& object(ObjectId id) const { return objects_[id]; }
  /// Throws Error when it has been folded, as for `previous`.
  [[nodiscard]] Event event(EventId id) const { return events_.at(id).event; }
  /// The event of the same object before this one; invalid when it is the first.
  [[nodiscard]] EventId previous(EventId id) const { return events_.at(id).previous; }
  /// The events of an object, oldest first, but for those that were folded. Throws Error when they come from
  /// a damaged file.
  [[nodiscard]] std::vector<std::pair<EventId, Event>> life_of(ObjectId id) const;
  /// Calls `told(entry)` for them from the last to the first.
  template <class Told>
  void read_back(ObjectId id, Told&& told) const {
    read_back_while(id, [&](const EventLog::Entry& entry) {
      told(entry);
      return true;
    });
  }
  /// Ends with the first for which `goes_on(entry)` does not hold.
  template <class GoesOn>
  void read_back_while(ObjectId id, GoesOn&& goes_on) const {
    EventLog::Reader reader(events_);
    EventId next = object(id).last_event;
    for (std::size_t left = listed_events(id); left != 0; --left) {
      const EventLog::Entry& entry = next.valid() ? reader.at(next) : damaged_chain();
      if (entry.event.object != id) damaged_chain();
      next = entry.previous;
      if (!goes_on(entry)) return;
    }
  }
  /// How many they are.
  [[nodiscard]] std::size_t listed_events(ObjectId id) const;
  /// The events of many objects, those of one from the last to the first: `told(index in ids, entry)`.
  void read_lives(std::span<const ObjectId> ids,
                  const std::function<void(std::size_t, const EventLog::Entry&)>& told) const;
  /// kinds_of its events that were folded.
  [[nodiscard]] std::vector<std::pair<Event, std::uint32_t>> folded_life_of(ObjectId id) const;
  /// How many ids were given, to events that have been folded as well.
  [[nodiscard]] std::size_t event_count() const { return events_.size(); }
  /// What else is to be said of an object: why its state is unknown, in words. Empty for most.
  [[nodiscard]] const std::string& note(ObjectId id) const;
  [[nodiscard]] const std::unordered_map<ObjectId, std::string>& notes() const { return notes_; }
  void set_note(ObjectId id, std::string note) { notes_[id] = std::move(note); }
  /// References that existed when an object was first seen (incomplete objects).
  [[nodiscard]] std::int64_t before_seen(ObjectId id) const;
  void set_before_seen(ObjectId id, std::int64_t references);
  /// Those that have not been folded.
  [[nodiscard]] const ObjectTable& objects() const { return objects_; }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] const Thread& thread(ThreadIndex index) const { return threads_[index.index()]; }
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }
  StackTable& stacks() { return stacks_; }
  [[nodiscard]] const StackTable& stacks() const { return stacks_; }

  [[nodiscard]] const EventLog& log() const { return events_; }

  /// Events of an object that are not listed one by one any more.
  struct FoldedEvents {
    EventId first;
    EventId last;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_origin;  ///< and how many
    [[nodiscard]] std::size_t count() const;
  };
  /// Some of the events that are left: where there are more than `most`, the first half and the last half.
  struct SomeEvents {
    std::vector<EventId> listed;  ///< oldest first
    FoldedEvents others;          ///< those between
  };
  /// Of those before `until`. Throws Error as life_of does.
  [[nodiscard]] SomeEvents some_events_of(ObjectId id, std::size_t most, EventId until = EventId()) const;
  /// The kinds of events of this object that were counted, without time and counts, and how many of each.
  [[nodiscard]] std::vector<std::pair<Event, std::uint32_t>> kinds_of(const FoldedEvents& counted,
                                                                      ObjectId id) const;
  /// Of all its events, folded ones too.
  [[nodiscard]] std::vector<std::pair<Event, std::uint32_t>> kinds_of(ObjectId id) const;
  /// None for most objects.
  [[nodiscard]] const FoldedEvents* folded_events(ObjectId id) const;
  [[nodiscard]] const std::unordered_map<ObjectId, FoldedEvents>& all_folded_events() const {
    return folded_;
  }
  void set_fold(ObjectId id, Fold how) { objects_.set_fold(id, how); }
  /// Leaves out the objects that are set `Fold::gone`, and of those set `Fold::early` the events before
  /// `recent` but for births, deaths and the latest one: they are counted by origin.
  void fold(EventId recent);
  /// Some object or event has been left out.
  [[nodiscard]] bool has_folded() const {
    return objects_.kept() != objects_.size() || events_.kept() != events_.size();
  }

  /// What a file holds, in place of everything here; its objects are then added in their order.
  void restore(EventLog events, StackTable stacks, std::vector<Thread> threads, EventId lost_from);
  /// An object of a file, with its id and generation.
  void restore_object(ObjectId id, const Object& object);
  void restore_folded(ObjectId id, FoldedEvents events) { folded_[id] = std::move(events); }
  /// All objects of a file have been added; so many ids were given.
  void objects_end(std::size_t ids);

  [[nodiscard]] std::size_t bytes() const;
  void clear();

 private:
  [[noreturn]] static const EventLog::Entry& damaged_chain();
  bool keeps(EventLog::Entry& entry, EventId recent, std::unordered_map<ObjectId, EventId>& latest);
  void count_folded(const EventLog::Entry& entry);
  [[nodiscard]] ObjectId not_gone(ObjectId id) const;
  void leave_address(ObjectId id);

  ObjectTable objects_;
  std::unordered_map<ObjectId, FoldedEvents> folded_;
  EventLog events_;
  std::vector<Finding> findings_;
  std::vector<Thread> threads_;
  std::unordered_map<long, ThreadIndex> newest_thread_;  // by tid
  ThreadIndex last_thread_;                              // that was asked for
  std::map<Address, ObjectId> newest_;                   // of some family; those of others are beside it
  struct Recent {
    Address address = 0;
    FamilyId family;
    ObjectId id;
  };
  static constexpr std::size_t kRecent = 4096;  // a power of two
  Recent& recent_at(Address address) const { return recent_[(address >> 4U ^ address >> 16U) % kRecent]; }
  [[nodiscard]] ObjectId find_newest_at(FamilyId family, Address address) const;
  mutable std::vector<Recent> recent_ =
      std::vector<Recent>(kRecent);  // of newest_, by address: most events are of few objects
  std::unordered_map<ObjectId, std::string> notes_;
  std::unordered_map<ObjectId, std::int64_t> before_seen_;  // where there were any
  struct Doubts {
    std::size_t incomplete = 0;  ///< objects
    bool unseen = false;
  };
  Doubts& doubts_of(FamilyId family);
  std::vector<Doubts> doubts_;  // by family
  EventId lost_from_;
  EventId lost_last_;
  StackTable stacks_;
};

}  // namespace refhist
