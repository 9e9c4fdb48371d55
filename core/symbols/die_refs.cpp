#include "symbols/die_refs.h"

#include <algorithm>

namespace refhist {

namespace {

// From the lowest bit: where the entry is in its section, 1 for .debug_types (the type units of DWARF 4), the
// file.
constexpr unsigned kOffsetBits = 48;
constexpr DieRef kTypes = DieRef{1} << kOffsetBits;
constexpr unsigned kFileShift = kOffsetBits + 1;

}  // namespace

DieRefs::DieRefs(Dwarf* dwarf) : files_{dwarf, dwarf_getalt(dwarf)} {}

DieRef DieRefs::high_part(Dwarf_CU* unit) {
  if (unit == last_unit_) return last_;
  const auto [known, added] = units_.try_emplace(unit);
  if (added) {
    Dwarf* file = dwarf_cu_getdwarf(unit);
    const auto found = std::find(files_.begin(), files_.end(), file);
    known->second = static_cast<DieRef>(found - files_.begin()) << kFileShift;
    if (found == files_.end()) files_.push_back(file);
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    dwarf_cu_info(unit, &version, &type, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (version == 4 && type == DW_UT_type) known->second |= kTypes;
  }
  last_unit_ = unit;
  return last_ = known->second;
}

DieRef DieRefs::ref(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  return high_part(die.cu) | dwarf_dieoffset(&copy);
}

std::optional<Dwarf_Die> DieRefs::die(DieRef ref) const {
  const std::size_t file = ref >> kFileShift;
  if (file >= files_.size() || files_[file] == nullptr) return std::nullopt;
  Dwarf_Die found;
  const Dwarf_Off offset = ref & (kTypes - 1);
  const auto* there = (ref & kTypes) != 0 ? dwarf_offdie_types(files_[file], offset, &found)
                                          : dwarf_offdie(files_[file], offset, &found);
  return there == nullptr ? std::nullopt : std::optional(found);
}

}  // namespace refhist
