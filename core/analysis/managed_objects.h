// The user's objects behind counted ones: what the control block of a std::shared_ptr manages, or what
// derives from a counted base class. Families say which (Family::managed). And what the user's own objects
// really are, by their dynamic types.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/dynamic_types.h"
#include "analysis/frame_namer.h"
#include "events/program_view.h"
#include "history/history.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"

namespace refhist {

struct ManagedObject {
  Address address = 0;  ///< 0: not known, as of an object that was gone when somebody asked
  std::string type;     ///< the dynamic type where it has one; empty: not known
};

class ManagedObjects {
 public:
  ManagedObjects(const ModuleMap& modules, const History& history, const std::vector<TrackedFamily>& families,
                 FrameNamer& namer)
      : modules_(modules), history_(history), families_(families), namer_(namer) {}

  /// Looks at the live objects that were not known yet.
  void look(const ProgramView& program);
  /// Of an object that is the user's own: itself, when its dynamic type tells more than its family. Nothing
  /// when it does not.
  std::optional<ManagedObject> of(ObjectId id);
  /// Its type can still be read: nobody has used the memory for anything else.
  [[nodiscard]] bool is_intact(ObjectId id) {
    const auto known = of(id);
    return known && !known->type.empty();
  }
  /// Objects that manage what begins at the address, as far as `look` has seen; in order of birth.
  [[nodiscard]] std::vector<ObjectId> managing(Address address) const;
  /// A control block that deletes what it points at, as the functions of its birth tell (Family::deleters).
  [[nodiscard]] bool deletes(ObjectId id);
  /// Another program begins: its classes lie elsewhere.
  void forget_classes() { types_.forget(); }
  void forget() {
    known_.clear();
    types_.forget();
  }
  [[nodiscard]] const std::unordered_map<ObjectId, ManagedObject>& known() const { return known_; }
  template <class Predicate>
  void forget_if(Predicate&& gone) {
    std::erase_if(known_, [&](const auto& entry) { return gone(entry.first); });
  }
  void remember(ObjectId id, ManagedObject object) { known_[id] = std::move(object); }

 private:
  /// Where a member is, and whether it points at the object or is it.
  struct Way {
    std::uint64_t offset = 0;
    bool points = false;
  };
  /// Those that a holder of this type has.
  [[nodiscard]] std::vector<Way> ways(const Object& object, const std::string& holder) const;
  /// Of a family's objects, in one look.
  struct Looked {
    std::size_t tried = 0;
    std::size_t found = 0;
  };
  [[nodiscard]] std::optional<ManagedObject> follow(const ProgramView& program, const Way& way,
                                                    const Object& object, const std::string& holder);
  [[nodiscard]] std::optional<ManagedObject> find(const ProgramView& program, const Object& object);
  /// What the functions of its birth tell.
  std::optional<ManagedObject> by_birth(ObjectId id);
  [[nodiscard]] std::optional<ManagedObject> by_birth(const Object& object,
                                                      const std::vector<NamedFrame>& stack) const;

  /// The counted object is a base class of the user's.
  [[nodiscard]] bool is_base(const Object& object) const;
  /// The object of this type around the counted one; nothing when it does not have the counter as its base's.
  [[nodiscard]] std::optional<ManagedObject> around(const Object& object, const std::string& type) const;
  [[nodiscard]] std::optional<ManagedObject> find_derived(const ProgramView& program, const Object& object);
  [[nodiscard]] std::optional<ManagedObject> derived_by_birth(const Object& object,
                                                              const std::vector<NamedFrame>& stack) const;

  const ModuleMap& modules_;
  const History& history_;
  const std::vector<TrackedFamily>& families_;
  FrameNamer& namer_;
  DynamicTypes types_{modules_};
  std::unordered_map<ObjectId, ManagedObject> known_;
};

}  // namespace refhist
