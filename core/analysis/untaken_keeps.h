// Where code keeps a pointer to an object and takes no reference for it: stores it in a member that gives one
// back later, or passes it to a function that keeps it so.
//
// Read from the code of the module alone. A function that keeps what its caller gives it may take the
// caller's reference over: where other callers take one first, those that do not are told; where none does,
// the place where it is kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/counted_arguments.h"
#include "analysis/jump_statement.h"
#include "analysis/keep_index.h"
#include "analysis/keep_walk.h"
#include "analysis/named_frame.h"
#include "analysis/slot_names.h"
#include "sites/site_table.h"
#include "symbols/module_map.h"
#include "x86/code_graph.h"

namespace refhist {

class UntakenKeeps {
 public:
  UntakenKeeps(const ModuleMap& modules, const SiteTable& sites, CodeGraph& graph)
      : modules_(modules), sites_(sites), graph_(graph), arguments_(modules, sites, graph) {}

  struct Place {
    NamedFrame frame;
    std::string passed_to;  ///< the function, where it is passed to one that keeps it
  };
  /// Of the function that calls to `target`, an address in the module's file, enter: it keeps its argument
  /// (1-based). In order of lines; empty where there are so many that it must have other uses.
  std::vector<Place> calls(FamilyId family, const LoadedModule& loaded, Address target, unsigned argument);
  /// In such a member of the same type.
  std::vector<Place> stores(FamilyId family, const LoadedModule& loaded, const SlotNames::Name& slot);
  /// Where such a member gets another pointer, or none, and nothing is done with the one that it has.
  std::vector<NamedFrame> overwrites(FamilyId family, const LoadedModule& loaded,
                                     const SlotNames::Name& slot);
  /// Where what has such a member ends and leaves the pointer there as it was: a call that frees its memory,
  /// or the end of its destructor.
  std::vector<NamedFrame> left_behind(FamilyId family, const LoadedModule& loaded,
                                      const SlotNames::Name& slot);
  /// Calls of functions of libraries that take a reference over, be it by their name (taken_over(), or
  /// contained() where they work on such containers), or because they are passed what gives it back along
  /// with the pointer.
  std::vector<Place> given(FamilyId family, const LoadedModule& loaded, std::string_view container);
  /// The name of the function that the call before the address in the module's file enters; empty when that
  /// is not known.
  std::string called_before(const Module& module, Address behind);
  /// Where functions that give back what they are given on some ways, and pass it on or keep it on others, do
  /// neither.
  std::vector<NamedFrame> forgotten(FamilyId family, const LoadedModule& loaded);
  /// Of functions that return it with a reference on other ways.
  std::vector<Place> returns(FamilyId family, const LoadedModule& loaded);
  /// How a function that gives back comes to a reference that it has not taken.
  struct Borrowed {
    enum class How : std::uint8_t {
      lent,         ///< by a function that only looks it up
      handed_over,  ///< it was its own, and a function that it was passed to has taken it over
      again,        ///< it has given it back before
      from_caller,  ///< and gives it back on some ways only
    };
    How how = How::lent;
    std::string by;  ///< the function that lent it or took it over
  };
  /// Of a put in the module's file: the instruction, or where its call returns to. Nothing where it has taken
  /// the reference on some way, or it is not known where that comes from.
  std::optional<Borrowed> borrowed(FamilyId family, const LoadedModule& loaded, Address put);
  /// KeepWalk::uses_given, in the module's file; nothing where they are in different functions.
  std::optional<bool> uses_given(FamilyId family, const LoadedModule& loaded, Address put, Address use);

 private:
  using Line = std::pair<std::string, unsigned>;  // of a file
  struct Untaken {
    std::vector<NamedFrame> frames;  ///< with the functions that it is inlined into, outwards
    std::string passed_to;           ///< Place::passed_to
    std::set<std::string> types;     ///< of the variables that have the pointer, what they point at
  };
  struct Found {
    std::vector<Untaken> untaken;
    std::set<Line> taken;         ///< lines where a reference was taken for what is kept, on every way
    std::set<std::string> types;  ///< Untaken::types, of what a reference was taken for
    bool some_taken = false;      ///< or on some way
    bool some_made = false;       ///< it was the result of what takes one inside, or makes the object
    bool taken_inside = false;    ///< or of what the function itself was given
  };
  struct Function {
    const LoadedModule* loaded = nullptr;
    Address begin = 0;
  };
  /// What is looked for in a function.
  struct Looked {
    KeepWalk::Wanted wanted;
    const SlotNames::Name* slot = nullptr;  ///< only what is stored in such a one
    std::string passed_to;                  ///< Place::passed_to, of calls
    int depth = 0;                          ///< of callers that are looked at
    bool given = false;                     ///< UntakenKeeps::given
    bool typed = false;                     ///< only what some variable points at
  };
  /// `given`: Looked::given.
  Found find_calls(FamilyId family, const LoadedModule& loaded, Address target, unsigned argument, int depth,
                   bool given = false);
  /// From what a register may have, to the slot.
  static std::set<std::int64_t> offsets_of(const SlotNames::Name& slot, const Module& module);
  using Copies = std::map<Address, std::int64_t>;  // KeepWalk::Wanted::copies
  /// By function, those that are to be looked at apart.
  std::map<Address, std::vector<Copies>> copies_of(const SlotNames::Name& slot, const Module& module,
                                                   const std::set<std::int64_t>& offsets);
  void look_at_calls(FamilyId family, const LoadedModule& loaded, Address target, Looked looked,
                     Found& found);
  void look(FamilyId family, const Function& function, const Looked& looked, Found& found);
  /// Nothing of the family's own functions, unless they are asked for, and where too much was walked already.
  std::optional<KeepWalk> walk_of(FamilyId family, const Function& function, bool own = false);
  bool is_inlined_put(FamilyId family, const LoadedModule& loaded, Address at) const;
  void add_overwrites(FamilyId family, const Function& function, const std::set<Address>& places,
                      const SlotNames::Name& slot, std::vector<NamedFrame>& found);
  /// False when nothing tells that it ends with the pointer in it.
  bool add_left_behind(FamilyId family, const Function& function, const KeepWalk::Ends& ends,
                       const SlotNames::Name& slot, std::vector<NamedFrame>& found);
  /// Calls that free what they are given, by function; destructors have none, or those of what they free.
  using Endings = std::map<Address, KeepWalk::EndCalls>;
  const Endings& endings_of(const Module& module);
  /// Calls that hand their argument 1 on to what frees an object of the holder's kind, as classes of GObject
  /// and types of CPython have it; of functions with a variable that points at the holder.
  Endings handed_on(const Module& module, const std::string& holder);
  /// The number of the argument (1-based) that a call to the address frees; 0 for none.
  unsigned freed_by(const Module& module, Address target);
  bool gives_member_back(FamilyId family, const LoadedModule& loaded, Address target, std::int64_t offset);
  bool frees_its_argument(const CodeGraph::Function& function);
  using Is = std::function<bool(const CodeGraph::Function& function)>;
  /// It does little else than to pass its argument 1 on to such a function.
  bool passes_argument_to(const CodeGraph::Function& function, const Is& is);
  bool destroys(FamilyId family, const Module& module, Address target);
  /// The name of the function that a call to the address enters; empty when that is not known.
  std::string name_at(const Module& module, Address target);
  /// The same of the call that stands there.
  std::string called_at(const Module& module, Address at);
  std::vector<Place> given_by_name(FamilyId family, const LoadedModule& loaded, std::string_view container);
  std::vector<Place> given_with_destroyer(FamilyId family, const LoadedModule& loaded);
  /// What a library's function returns is mostly new.
  bool is_borrowed(const Module& module, const KeepWalk& walk, const KeepWalk::Kept& kept);
  bool returns_new_memory(const CodeGraph::Function& function);
  std::optional<Borrowed> read_borrowed(FamilyId family, const Function& function, Address put);
  bool lends(FamilyId family, const CodeGraph::Function& function);
  /// Its code stores nothing but to its stack, and calls nothing that may do so.
  bool only_reads(const CodeGraph::Function& function, int depth);
  /// What it is given in that argument it leaves alone on some ways.
  bool gives_argument_on_some_ways(FamilyId family, const Function& function, unsigned argument);
  bool is_slot(const Slot& slot, const SlotNames::Name& wanted, const Function& function,
               const KeepWalk& walk);
  /// The place itself, or the calls of the function that was given it.
  void add(FamilyId family, const Function& function, const KeepWalk::Kept& kept, const Looked& looked,
           Found& found);
  /// What is kept is the result of a call that takes a reference, or makes the object.
  bool is_made(FamilyId family, const Module& module, const KeepWalk& walk, const KeepWalk::Kept& kept);
  void add_place(const Function& function, const KeepWalk::Kept& kept, const Looked& looked, Found& found);
  /// Of the instructions in the frame's function, before its line; 0 when there is none.
  static unsigned last_line(const Function& function, const std::vector<Address>& own,
                            const NamedFrame& frame);
  static std::set<std::string> types_at(const Function& function, Address at, const ValuePlaces& held);
  unsigned jump_behind(const Function& function, Address at, const std::string& file, unsigned line);
  /// One for each line, of the innermost function that keeps nothing elsewhere that was taken for it.
  static std::vector<Place> places(const Found& found);
  /// Functions with the call of a get in them, or an inlined copy; of a put with `sign` -1.
  std::set<Address> takers(FamilyId family, const Module& module, int sign = 1);
  const KeepIndex& index_of(const Module& module);
  KeepWalk::Change change_of(FamilyId family, const Module& module);
  /// The code takes a reference or makes an object, or what it calls does.
  bool takes_inside(FamilyId family, const CodeGraph::Function& function, int depth);
  /// `sign`: of UntakenKeeps::changes_.
  bool changes_inside(FamilyId family, const CodeGraph::Function& function, int sign, int depth);
  /// What a call to the address in the module's file does.
  struct Entered {
    int change = 0;             ///< as KeepWalk::Change
    bool ends = false;          ///< KeepWalk::Called
    std::optional<bool> makes;  ///< likewise, when it was asked for
    std::optional<bool> gives;
    std::optional<bool> destroys;
  };
  Entered& entered(FamilyId family, const Module& module, Address target);
  [[nodiscard]] int change_at(FamilyId family, const Module& module, Address at) const;
  void know_sites();

  const ModuleMap& modules_;
  const SiteTable& sites_;
  CodeGraph& graph_;
  CountedArguments arguments_;
  SlotNames names_{graph_};
  JumpStatements jumps_;
  std::map<const Module*, std::unique_ptr<KeepIndex>> indexes_;
  std::map<std::tuple<FamilyId, const Module*, Address>, int> changes_;
  std::map<std::tuple<FamilyId, const Module*, Address>, Entered> entered_;
  std::map<std::tuple<FamilyId, const Module*, Address, int, int>, bool> changes_inside_;  // sign, so deep
  using StoredIn = std::tuple<FamilyId, const Module*, std::string, std::string>;          // holder, member
  std::map<StoredIn, std::vector<Place>> stores_;
  std::map<StoredIn, std::vector<NamedFrame>> overwrites_;
  std::map<StoredIn, std::vector<NamedFrame>> left_behind_;
  std::map<const Module*, Endings> endings_;
  std::map<std::tuple<FamilyId, const Module*, Address, std::int64_t>, bool> gives_member_;
  int inside_calls_ = 0;  ///< of gives_member_back
  std::map<std::pair<FamilyId, const Module*>, std::vector<Place>> returns_;
  std::map<std::tuple<FamilyId, const Module*, std::string>, std::vector<Place>> given_;
  std::map<std::pair<FamilyId, const Module*>, std::vector<NamedFrame>> forgotten_;
  std::map<std::tuple<FamilyId, const Module*, Address>, std::optional<Borrowed>> borrowed_;  // by place
  std::size_t sites_seen_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace refhist
