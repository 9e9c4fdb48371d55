// The user's stop rules: break-on-leak, break-on-imbalance, break-on-put-to-zero, break-on-count,
// break-on-event; and follow, which waits for an event as the last of these does and does not stop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/recorder.h"
#include "history/history.h"
#include "session/follow_order.h"

namespace refhist {

enum class RuleKind : std::uint8_t { leak, imbalance, put_to_zero, count, event, follow };

std::string_view rule_verb(RuleKind kind);  ///< "break-on-leak"

struct StopRule {
  int number = 0;
  RuleKind kind = RuleKind::leak;
  std::vector<std::string> families;  ///< globs; empty: every tracked family
  std::optional<Address> object;      ///< only this object's address
  std::string after;                  ///< function at whose return it looks; empty: not tied to a call
  std::int64_t above = 0;             ///< break-on-count: references
  std::int64_t number_of_event = 0;   ///< break-on-event, follow: in the object's history, from 1
  std::int64_t generation = 0;        ///< the same: of the object at that address; 0: any
  std::int64_t expect = 0;            ///< net change that is right for `after`
  bool reachable = false;             ///< break-on-leak: reachable objects count as well
  bool raw_exit = false;              ///< break-on-leak: also at an exit system call that passes no function
  std::optional<FollowOrder> follow;  ///< follow's own
  bool enabled = true;
  std::uint64_t hits = 0;
  std::uint64_t undecided = 0;  ///< calls of `after` during which events were lost

  /// It waits for one event of one object.
  [[nodiscard]] bool names_event() const { return kind == RuleKind::event || kind == RuleKind::follow; }
  [[nodiscard]] bool wants_family(const std::string& name) const;
  [[nodiscard]] std::string describe() const;
  /// The same, and what has become of it.
  [[nodiscard]] std::string status() const;
};

class StopRules {
 public:
  StopRule& add(StopRule rule);
  /// Throws Error when there is no rule with this number.
  StopRule& get(int number);
  void remove(int number);
  [[nodiscard]] const std::vector<StopRule>& all() const { return rules_; }
  std::vector<StopRule>& all() { return rules_; }
  [[nodiscard]] bool any_enabled(RuleKind kind) const;
  [[nodiscard]] bool any_for_raw_exit() const;  ///< enabled ones

 private:
  std::vector<StopRule> rules_;
  int next_ = 1;
};

}  // namespace refhist
