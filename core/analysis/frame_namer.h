// Gives recorded frames their functions, files and lines, and picks the frame that owns a reference.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/helper_frames.h"
#include "analysis/named_frame.h"
#include "analysis/tail_calls.h"
#include "history/history.h"
#include "sites/site_table.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"

namespace refhist {

class FrameNamer {
 public:
  FrameNamer(const ModuleMap& modules, const SiteTable& sites, const History& history,
             const std::vector<TrackedFamily>& families)
      : modules_(modules), sites_(sites), history_(history), families_(families) {}

  /// All frames of a stack, innermost first; each inlined call is a frame of its own.
  std::vector<NamedFrame> stack(StackId stack);
  /// The frame in whose hands the reference was taken or given back: the caller of a function of the program
  /// itself; for a library's function the first frame outside that library. Not a function that the family
  /// folds or HelperFrames knows, if there is another.
  NamedFrame owner(const Event& event);
  /// What the owner called: of the functions that the family folds, and of helpers, the outermost, in short
  /// ("std::weak_ptr::lock"); empty when there are none.
  std::string operation(const Event& event);
  /// The object's family folds it, or it is a helper.
  [[nodiscard]] bool passes_on(const Event& event, const NamedFrame& frame);
  /// How many of the innermost frames of `stack` the family folds, its own function among them.
  std::size_t folded(const Event& event);
  /// The owner has not called the event's function itself, but another one of the library that this is in.
  bool by_library(const Event& event);
  /// The owner calls the probe, or has it inlined: neither another function of its library nor a helper
  /// stands between, and no frame is lost.
  [[nodiscard]] bool calls_itself(const Event& event);
  /// The function that really made the owner's call, when it jumped to the one that the stack shows and so
  /// has no frame; empty when that is not so, or not known for sure.
  std::string lost_owner(const Event& event);
  /// The same as a frame at its jump; nothing when more than one frame was lost.
  std::optional<NamedFrame> jumping_owner(const Event& event);
  /// "conn_close (json_client.c:120)", or module and address when nothing better is known. The function as
  /// short_name has it, unless the `whole` name is wanted.
  static std::string text(const NamedFrame& frame, bool whole = false);
  /// The frame's function returns a pointer to what the event's family counts.
  [[nodiscard]] bool returns_counted(const Event& event, const NamedFrame& frame);
  /// And it makes no such objects: one that does returns what it has made, and keeps what it has taken.
  [[nodiscard]] bool returns_object(const Event& event, const NamedFrame& frame);
  /// The struct, class or typedef of one that the frame's function returns a pointer to, by debug
  /// information. Empty when it returns something else, or nothing is known.
  const std::string& result_type(const NamedFrame& frame);
  /// By debug information, the frame's function leaves no pointer with its caller.
  bool hands_nothing_out(const NamedFrame& frame);
  /// By debug information, it leaves one where a parameter points.
  bool leaves_pointer(const NamedFrame& frame);
  /// The same for one frame: its function, and what that was inlined into.
  const std::vector<NamedFrame>& name(const StackFrame& frame);
  /// The event's family has objects that gets and puts leave alone.
  [[nodiscard]] bool may_be_immortal(const Event& event) const {
    return family_of(event).counter.immortal_below_zero;
  }
  /// A family's put has this name.
  [[nodiscard]] bool is_put(const std::string& function) const;
  [[nodiscard]] const ModuleMap& modules() const { return modules_; }
  [[nodiscard]] CodeGraph& code_graph() { return tail_calls_.graph(); }
  TailCalls& tail_calls() { return tail_calls_; }
  void modules_changed() { cache_.clear(); }

 private:
  /// Where a frame stands among those of its function's inlined ones.
  struct Place {
    std::size_t frame = 0;
    std::size_t name = 0;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] Place caller_place(const Event& event, const std::vector<StackFrame>& frames);
  [[nodiscard]] Place owner_place(const Event& event, const std::vector<StackFrame>& frames);
  [[nodiscard]] Place behind_copy(const Site& site, const std::vector<StackFrame>& frames);
  /// One frame outwards. False when there is none.
  bool next(const std::vector<StackFrame>& frames, Place& place);
  /// The first place from this one on that `skip` is not true of; the same one when there is none.
  template <class Skip>
  Place behind(const std::vector<StackFrame>& frames, Place from, Skip&& skip);
  std::size_t names_before(const std::vector<StackFrame>& frames, Place place);
  /// The first place from this one on that does not pass on; the same one when there is none.
  [[nodiscard]] Place unfolded(const Event& event, const std::vector<StackFrame>& frames, Place from);
  [[nodiscard]] const Family& family_of(const Event& event) const {
    return families_[history_.object(event.object).family.index()].family;
  }
  struct Result {
    std::string type;
    bool hands_nothing_out = false;
    bool leaves_pointer = false;
  };
  const Result& result_of(const NamedFrame& frame);
  [[nodiscard]] Result find_result(const NamedFrame& frame) const;
  /// The function is the owner of a birth, or calls, directly or by one other, what gives the family its
  /// objects.
  bool makes_objects(FamilyId family, const std::string& function);
  /// Frames of the origin's stack before the owner's own: of the library that its site is in.
  std::size_t owner_depth(const EventOrigin& origin);
  /// The owner's frame, whose call may have lost others; 0 when there is none.
  [[nodiscard]] std::size_t called_from(const Event& event, const std::vector<StackFrame>& frames);
  /// owner_index, or 0 where the owner has made no call of its own to the library.
  [[nodiscard]] std::size_t owner_behind_call(const Event& event, const std::vector<StackFrame>& frames);
  /// The innermost that is not in a library of the system; 0 when all are.
  [[nodiscard]] std::size_t first_of_program(const std::vector<StackFrame>& frames) const;
  [[nodiscard]] std::size_t owner_index(const Event& event, const std::vector<StackFrame>& frames);
  /// An interpreter's, below which nothing is its caller's doing.
  [[nodiscard]] bool runs_others(const Site& site, const StackFrame& frame);

  struct Hash {
    std::size_t operator()(const StackFrame& frame) const noexcept {
      return std::hash<Address>{}(frame.pc * 31 + frame.module.value * 2 + (frame.exact ? 1 : 0));
    }
  };
  const ModuleMap& modules_;
  const SiteTable& sites_;
  const History& history_;
  const std::vector<TrackedFamily>& families_;
  HelperFrames helpers_{modules_};
  TailCalls tail_calls_{modules_};
  std::unordered_map<StackFrame, std::vector<NamedFrame>, Hash> cache_;
  std::map<std::pair<std::string, std::string>, Result> results_;  // by module and function
  std::set<std::pair<FamilyId, std::string>> makers_;
  std::size_t origins_seen_ = 0;
  EventOrigin last_origin_;  // of makers_
};

}  // namespace refhist
