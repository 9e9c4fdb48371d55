// Frames that a stack lacks because a function jumped to its last callee instead of calling it.
//
// The proof is in the code: the instruction before the return address calls one function by name, and another
// one runs there. How the one came to the other is looked for in the jumps that leave it. A call through a
// pointer proves nothing, and clones, aliases, thunks and indirect functions are the function itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "history/stack_table.h"
#include "symbols/module_map.h"
#include "x86/code_graph.h"

namespace refhist {

struct LostFrames {
  std::string called;                          ///< the function that the outer frame called
  std::string runs;                            ///< the function of the inner frame
  std::vector<std::vector<std::string>> ways;  ///< each: the functions whose frames are lost, `called` first
  bool complete = true;                        ///< false: a jump through a pointer may have been another way

  /// "frames lost to a tail call: called conn_release, which jumped to conn_put"
  [[nodiscard]] std::string text() const;
};

class TailCalls {
 public:
  explicit TailCalls(const ModuleMap& modules) : modules_(modules) {}

  /// What is lost between a frame and the one that it returns to; null when nothing is, or when it cannot be
  /// told.
  std::shared_ptr<const LostFrames> between(const StackFrame& inner, const StackFrame& outer);
  /// Behind the jump by which the function that the outer frame has called left for the inner one's, as the
  /// frame of a call there; nothing when `between` tells of more than this one lost frame. Of several jumps
  /// through pointers it is one.
  std::optional<StackFrame> only_jump(const StackFrame& inner, const StackFrame& outer);
  /// Behind the jump by which the frame's function leaves for one of another module; nothing when it has
  /// none, or leaves for several.
  std::optional<StackFrame> jump_into(const StackFrame& left, const Module& module);
  [[nodiscard]] CodeGraph& graph() { return graph_; }
  /// This is what `between` is to say of them.
  void remember(const StackFrame& inner, const StackFrame& outer, LostFrames lost);

 private:
  using Function = CodeGraph::Function;
  struct Search;

  using Key = std::tuple<std::uint64_t, Address, bool, std::uint64_t, Address>;
  static Key key(const StackFrame& inner, const StackFrame& outer) {
    return {inner.module.value, inner.pc, inner.exact, outer.module.value, outer.pc};
  }
  [[nodiscard]] std::optional<Function> running_at(const StackFrame& frame) const;
  std::optional<StackFrame> jump_to(const Function& called, const std::function<bool(const Function&)>& goal);
  /// That one jumps through a pointer, and by no other way can it have come to `goal`.
  std::optional<StackFrame> jump_through_pointer(const Function& called, const Function& goal);
  [[nodiscard]] std::optional<LostFrames> look(const StackFrame& inner, const StackFrame& outer);
  void follow(Search& search, const Function& at, std::vector<std::string>& way);
  /// Every jump out of the function, its cold part included.
  void follow_jumps(Search& search, const Function& at, std::vector<std::string>& way);
  /// What the call that returns to the frame may have entered.
  std::vector<Function> called_from(const StackFrame& outer);
  const JumpsOut& jumps(const Function& function);
  [[nodiscard]] ModuleId id_of(const Module& module) const;

  const ModuleMap& modules_;
  CodeGraph graph_{modules_};
  std::map<std::pair<const Module*, Address>, JumpsOut> jumps_;
  std::map<Key, std::shared_ptr<const LostFrames>> known_;
};

}  // namespace refhist
