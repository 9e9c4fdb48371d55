// The object history database: every object that was seen, every event, in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "history/event.h"
#include "history/event_log.h"
#include "history/stack_table.h"
#include "probes/family.h"

namespace refhist {

enum class ObjectState : std::uint8_t {
  live,
  dead,     ///< the last reference was put, or its memory was given back
  unknown,  ///< its end was not seen: the address was used again, or the process ended unseen
};

struct Object {
  Address address = 0;
  std::uint32_t generation = 1;  ///< 1 for the first object seen at this address
  FamilyId family;
  std::uint64_t size = 0;  ///< bytes; 0 when unknown
  ObjectState state = ObjectState::live;
  bool complete = true;    ///< false: it lived before it was first seen, or `note` says what was missed
  bool base_known = true;  ///< false: the ledger counts from an unknown base (counter unreadable)
  bool moved_unobserved = false;  ///< its count changed at least once without an event
  bool uncounted = false;         ///< its counter read 0 or less at birth, though it should have references
  bool freed = false;             ///< its memory was seen being given back
  std::int64_t ledger = 0;        ///< references that the events imply
  std::int64_t before_seen = 0;   ///< references that existed when it was first seen (incomplete objects)
  EventId born;
  std::uint32_t birth_origin = EventLog::kNoOrigin;  ///< of `born`: what births at one place have in common
  EventId died;
  EventId first_event;
  EventId last_event;
  std::uint32_t events = 0;  ///< how many
  ObjectId earlier;          ///< of the same family at the same address
  ObjectId beside;           ///< the newest of another family at the same address, and so on
};

enum class Verdict : std::uint8_t {
  leak,
  over_put,
  use_after_free,
  resurrection,
  free_while_referenced,
  unobserved_change,
  undecidable,
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
  ObjectId add_object(Object object);     ///< sets its generation; it becomes the current one at its address
  EventId add_event(const Event& event);  ///< the last one of its object
  void add_finding(Finding finding) { findings_.push_back(std::move(finding)); }
  /// The thread with this id and name; a renamed or reused id is another entry.
  ThreadIndex thread(long tid, const std::string& name);

  /// This event is the object's birth.
  void set_born(ObjectId id, EventId event);
  /// An object's birth was not seen, or the last of what was seen of it has a gap; or it was seen after all.
  void set_complete(ObjectId id, bool complete);
  /// Something of the family happened without an event.
  void note_unseen(FamilyId family) { doubts_of(family).unseen = true; }
  /// Events were lost: anything may have happened to any object.
  void note_lost() { lost_ = true; }
  [[nodiscard]] bool lost() const { return lost_; }
  /// May births of the family be unseen? Then an object may be another one than that before at its address.
  [[nodiscard]] bool births_in_doubt(FamilyId family) const;

  /// The newest object of the family at exactly this address; invalid when none was ever seen.
  [[nodiscard]] ObjectId newest_at(FamilyId family, Address address) const;
  /// All objects of all families that were ever seen at exactly this address, oldest first.
  [[nodiscard]] std::vector<ObjectId> all_at(Address address) const;
  /// The newest object of each family at each address in [begin, end), whatever became of it.
  [[nodiscard]] std::vector<ObjectId> starting_in(Address begin, Address end) const;
  /// Objects whose known extent contains the address, nearest begin first. `exact` ones come first.
  [[nodiscard]] std::vector<ObjectId> containing(Address address) const;

  Object& object(ObjectId id) { return objects_[id.index()]; }
  [[nodiscard]] const Object& object(ObjectId id) const { return objects_[id.index()]; }
  [[nodiscard]] Event event(EventId id) const { return events_.at(id).event; }
  /// The event of the same object before this one; invalid when it is the first.
  [[nodiscard]] EventId previous(EventId id) const { return events_.at(id).previous; }
  /// All events of an object, oldest first. Throws Error when they come from a damaged file.
  [[nodiscard]] std::vector<EventId> events_of(ObjectId id) const;
  /// The same with what they are.
  [[nodiscard]] std::vector<std::pair<EventId, Event>> life_of(ObjectId id) const;
  [[nodiscard]] std::size_t event_count() const { return events_.size(); }
  /// What else is to be said of an object: why its state is unknown, in words. Empty for most.
  [[nodiscard]] const std::string& note(ObjectId id) const;
  [[nodiscard]] const std::unordered_map<ObjectId, std::string>& notes() const { return notes_; }
  void set_note(ObjectId id, std::string note) { notes_[id] = std::move(note); }
  [[nodiscard]] const std::vector<Object>& objects() const { return objects_; }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] const Thread& thread(ThreadIndex index) const { return threads_[index.index()]; }
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }
  StackTable& stacks() { return stacks_; }
  [[nodiscard]] const StackTable& stacks() const { return stacks_; }

  [[nodiscard]] const EventLog& log() const { return events_; }

  /// What a file holds, in place of everything here; its objects are then added in their order.
  void restore(EventLog events, StackTable stacks, std::vector<Thread> threads, bool lost);

  [[nodiscard]] std::size_t bytes() const;
  void clear();

 private:
  std::vector<Object> objects_;
  EventLog events_;
  std::vector<Finding> findings_;
  std::vector<Thread> threads_;
  std::unordered_map<long, ThreadIndex> newest_thread_;  // by tid
  ThreadIndex last_thread_;                              // that was asked for
  std::map<Address, ObjectId> newest_;                   // of some family; those of others are beside it
  std::unordered_map<ObjectId, std::string> notes_;
  struct Doubts {
    std::size_t incomplete = 0;  ///< objects
    bool unseen = false;
  };
  Doubts& doubts_of(FamilyId family);
  std::vector<Doubts> doubts_;  // by family
  bool lost_ = false;
  StackTable stacks_;
};

}  // namespace refhist
