// The way that one call of a function has gone: its lines, from an event of an object until it was left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/named_frame.h"
#include "base/types.h"
#include "heap/reachability_ranges.h"
#include "history/event.h"

namespace refhist {

struct FollowedEvent {
  Role role = Role::get;
  Count before;
  Count after;
};

struct FollowedStep {
  std::string function;
  std::string file;
  unsigned line = 0;
  std::vector<FollowedEvent> events;  ///< of the object, in this line and in what it called
  /// As the line began, a register or the frame of the call had the pointer, and no word of memory that did
  /// not have it at the event. Nothing where that is not known.
  std::optional<bool> in_hand;
  Address frame = 0;  ///< of a step that is a frame of a stack: its canonical frame address
  Address pc = 0;     ///< of such a one
  /// Of the holders, those that the frame has a pointer to, or to a little before it: how many bytes before.
  std::map<Address, std::uint64_t> reaches = {};
  [[nodiscard]] bool gives_back() const;
};

FollowedStep step_of(const NamedFrame& frame);
/// Function, file and line of the step.
NamedFrame frame_of(const FollowedStep& step);

/// A word that points at the object when the call returns, and did not at the event.
struct NewHolder {
  Address at = 0;        ///< 0: the register of the result
  std::string where;     ///< OwnerWord::where
  AddressRange block{};  ///< OwnerWord::block
};

/// Where a pointer was used for the last time.
struct LastUse {
  std::size_t step = 0;             ///< of the way
  std::vector<FollowedStep> calls;  ///< that line, then where its function was inlined into, outwards
  std::set<std::string> variables;  ///< that had the pointer
  std::set<unsigned> lines;         ///< of that file, which the function has code of
};

struct FollowedWay {
  enum class End { unknown, returned, unwound, running };
  Address object = 0;
  std::string function;  ///< the last one that was followed
  std::vector<FollowedStep> steps;
  End end = End::unknown;  ///< unwound: left by longjmp or an exception
  std::vector<NewHolder> holders;
  std::string kept_in;                  ///< OwnerWord::where, of the last place in memory that it was kept in
  std::optional<std::size_t> replaced;  ///< the step that put something else there, or freed it
  std::optional<LastUse> last_use;      ///< of an order to the loss
  Address loaded_from = 0;              ///< at the event, the word that its pointer came from; 0: not known
  bool is_result = false;      ///< at the event, a call had returned it to the function that gives it
  bool freed = false;          ///< it freed it
  bool holders_known = false;  ///< the memory was looked at, all of it
  std::int64_t events = 0;     ///< of the object's, up to the last one of the way; 0: not known
  std::string sum;             ///< history_sum of those
  std::string why_not;         ///< why it was not followed, or not to its end; empty when it was

  /// It was followed until it had returned.
  [[nodiscard]] bool whole() const { return why_not.empty() && end == End::returned; }
  [[nodiscard]] bool gives_back() const;
  /// JSON, and back. Throws Error for what is none.
  [[nodiscard]] std::string json() const;
  static FollowedWay of_json(const std::string& text);
  /// "handle_reply with 0x5555…: it returned", a line.
  [[nodiscard]] std::string title() const;
  /// Its steps, a line each, indented.
  [[nodiscard]] std::string text() const;
};

}  // namespace refhist
