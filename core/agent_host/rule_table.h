// The debugger's side of the stop rules that the agent evaluates. Used while the program stands still.
#pragma once

#include <cstdint>
#include <span>

#include "agent_host/shared_area.h"
#include "agent_host/told_count.h"
#include "history/history.h"
#include "port/task_numbers.h"

namespace refhist {

class RuleTable {
 public:
  RuleTable(const SharedArea& area, long pid) : area_(area), numbers_(pid) {}

  /// The families whose objects are looked for in memory that is given back.
  void name_families(std::span<const FamilyId> families) const;
  /// The thread has come to where it went back to: its next call there is another one.
  void arrived(long tid) const;
  /// The thread has come to where it was sent: others may go on with its object.
  void release(long tid) const;
  /// Puts among others that did not return: one of them may have been a last one that nobody stopped at.
  [[nodiscard]] std::uint64_t undecided();
  /// The agent is to think of the object at the address what the history says.
  void correct(const Object& object) const;
  /// Events on objects that had no room in the table.
  [[nodiscard]] std::uint64_t unwatched();

 private:
  [[nodiscard]] bool any_unfinished() const;

  const SharedArea& area_;
  TaskNumbers numbers_;
  ToldCount undecided_;
  ToldCount unwatched_;
};

}  // namespace refhist
