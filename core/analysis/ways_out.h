// Where a function that gives references back leaves without doing so: the line where the source of that way
// stands.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/borrowing.h"
#include "analysis/counted_arguments.h"
#include "analysis/frame_namer.h"
#include "analysis/function_ways.h"
#include "analysis/jump_statement.h"
#include "analysis/slot_names.h"
#include "sites/site_table.h"
#include "x86/code_graph.h"

namespace refhist {

class WaysOut {
 public:
  WaysOut(const ModuleMap& modules, const SiteTable& sites, CodeGraph& graph)
      : modules_(modules), sites_(sites), graph_(graph), arguments_(modules, sites, graph) {}

  struct Place {
    NamedFrame frame;
    bool passed_on = false;    ///< LostWay::passed_on
    bool handed_over = false;  ///< LostWay::handed_over
    /// It leads to the next reference without code of its own: the line is the branch's.
    bool no_line = false;
    bool in_hand = false;   ///< a call had returned the reference before
    bool stored = false;    ///< LostWay::stored
    bool own_line = false;  ///< no way with a put has the line
    bool moved = false;     ///< to another variable, in this line, before it leads to the next reference
  };
  /// Of the call that the frame makes itself.
  Held held(const NamedFrame& frame, CallDoes does) { return kept_of(frame, does).held; }
  /// The place where such a pointer lies; empty when it lies in no memory, or nothing is known.
  const SlotNames::Name& kept_in(const NamedFrame& frame, CallDoes does);
  /// A function that has a reference.
  struct Holding {
    FamilyId family;
    NamedFrame taken;
    std::vector<NamedFrame> puts;
    bool elsewhere = false;      ///< FunctionWays::Code::elsewhere
    std::vector<Passed> passed;  ///< FunctionWays::Code::passed
    SiteId taker = {};           ///< what the call enters, where that takes it
    bool by_argument = false;    ///< FunctionWays::Code::by_argument
  };
  /// From the call that `taken` is the frame of, which takes such a reference. `puts`: frames of the same
  /// function in calls that gave one back. The likeliest first; empty when there are none, or too many to say
  /// anything.
  std::vector<Place> behind(const Holding& held);
  /// Where the function of this frame, which takes such a reference and keeps it in no memory, leaves with
  /// it: one frame for each line, in order. Empty when it gives it back on some way, or leaves in too many.
  std::vector<NamedFrame> leaving(const Holding& held);
  /// Where it leaves with it on some ways, and neither returns nor keeps it there, as it does on others.
  std::vector<NamedFrame> dropping(const Holding& held);
  /// Where a variable that has it gets another one from the same function, by line.
  std::vector<NamedFrame> overwriting(const Holding& held);
  /// FunctionWays::last_uses, by line.
  std::vector<NamedFrame> last_uses(const Holding& held);
  /// From the beginning of the function that `puts` are frames of.
  const std::vector<Place>& from_begin(FamilyId family, const std::vector<NamedFrame>& puts);

 private:
  /// A function's code: itself, or one of its inlined copies.
  struct Here {
    const LoadedModule* loaded = nullptr;
    std::vector<FileRange> ranges;
    Address begin = 0;
    bool inlined = false;
    [[nodiscard]] bool contains(const NamedFrame& frame) const;
  };
  /// Where the frame's function has code, its own and inlined; the frame's own first.
  std::vector<Here> copies_of(const NamedFrame& frame) const;
  using Places = std::vector<Address> (FunctionWays::*)(const FunctionWays::GivesBack&,
                                                        const FunctionWays::Ends&);
  std::vector<NamedFrame> leaving(const Holding& held, Places places_of);
  /// From the beginning of the function.
  void find(FamilyId family, const NamedFrame& frame, const Here& here, const std::vector<NamedFrame>& puts,
            std::vector<Place>& places);
  /// Of a function, from its beginning.
  FunctionWays::Code whole_code(const Here& here);
  /// The code behind the call that took it.
  FunctionWays::Code code_of(const Holding& held, const Here& here);
  /// Unless they are as many as the puts.
  void add(const std::vector<LostWay>& lost, const FunctionWays& ways, const NamedFrame& frame,
           const Here& here, std::vector<Place>& places);
  /// Instructions that were seen to give back, and what those of them that are calls enter.
  FunctionWays::GivesBack gives_back(FamilyId family, const Here& here, const std::vector<NamedFrame>& puts);
  /// The call that returns to `behind`, in the module's file, enters that function, which returns no pointer,
  /// as far as is known.
  bool counts_argument(const Site& site, const Module& module, Address behind);
  bool enters_put(FamilyId family, const Module& module, Address target);
  Place place_of(const LostWay& way, const std::set<Address>& good, const NamedFrame& frame,
                 const Here& here);
  /// Of the function's statements: its lines by instruction, also of those without code, which stand where
  /// the next ones begin.
  using Lines = std::map<Address, std::set<unsigned>>;
  Lines lines_of(const std::set<Address>& instructions, const NamedFrame& frame, const Here& here) const;
  static std::vector<LineRow> rows_of(const Here& here);
  static std::set<unsigned> lines_around(Address at, const Here& here);
  /// Up to `at`, an instruction that has a line of the function's own.
  [[nodiscard]] Address last_of_own(Address at, const std::vector<Address>& instructions,
                                    const NamedFrame& frame, const Here& here) const;
  Address end_of(const std::vector<Address>& instructions, const NamedFrame& frame, const Here& here) const;
  unsigned line_of(Address at, const NamedFrame& frame, const Here& here) const;
  static std::vector<Place> likeliest(std::vector<Place> places);
  void know_sites();

  const ModuleMap& modules_;
  const SiteTable& sites_;
  CodeGraph& graph_;
  Borrowing borrowing_{graph_};
  CountedArguments arguments_;
  JumpStatements statements_;
  struct Kept {
    Held held = Held::unknown;
    Slot slot;
    const Module* module = nullptr;
    Address function = 0;                 ///< where it begins
    std::optional<Address> called;        ///< what `slot` is a result of
    std::optional<SlotNames::Name> name;  ///< once asked for
  };
  Kept& kept_of(const NamedFrame& frame, CallDoes does);
  /// By the code of the function that it is inlined into.
  std::optional<Kept> kept_around(const NamedFrame& frame, CallDoes does);
  Kept read_kept(const Here& here, const NamedFrame& frame, CallDoes does);
  SlotNames::Name name_of(const Kept& kept);
  std::map<std::pair<Address, CallDoes>, Kept> kept_;
  SlotNames slot_names_{graph_};
  /// From their beginning, by function, and how many of its puts were known then.
  std::map<std::tuple<FamilyId, std::string, std::size_t>, std::vector<Place>> known_;
  std::map<std::pair<const Module*, Address>, std::set<FamilyId>>
      puts_;                                                   // functions, and inlined instructions
  std::set<std::pair<const Module*, Address>> counting_gets_;  // inlined instructions
  std::size_t sites_seen_ = 0;
};

}  // namespace refhist
