// Entries of a module's debug information as numbers, which mean the same in another process: which of its
// files, and where in there.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "symbols/dwarf_die.h"

namespace refhist {

using DieRef = std::uint64_t;

class DieRefs {
 public:
  explicit DieRefs(Dwarf* dwarf);

  [[nodiscard]] DieRef ref(const Dwarf_Die& die);
  /// Nothing when no such entry is there.
  [[nodiscard]] std::optional<Dwarf_Die> die(DieRef ref) const;
  /// False when refs were given to entries of split files, which have numbers in this process only.
  [[nodiscard]] bool portable() const { return files_.size() <= kOwnFiles; }

 private:
  static constexpr std::size_t kOwnFiles = 2;  // the module's, and the one that dwz shares among several
  [[nodiscard]] DieRef high_part(Dwarf_CU* unit);

  std::vector<Dwarf*> files_;
  std::unordered_map<Dwarf_CU*, DieRef> units_;
  Dwarf_CU* last_unit_ = nullptr;
  DieRef last_ = 0;
};

}  // namespace refhist
