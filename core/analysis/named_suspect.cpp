#include "analysis/named_suspect.h"

#include <algorithm>

#include "base/system_path.h"

namespace refhist {

namespace {

using Basis = Suspect::Basis;

bool in_source(const Suspect& suspect) {
  return suspect.frame.line != 0 && !is_system_path(suspect.frame.file);
}

// It is the only one, its function is the one that the siblings' put stands in, and it lies behind where the
// reference was taken: one that leads back may be any turn of a loop.
bool is_only_way(const std::vector<Suspect>& suspects) {
  const Suspect& way = suspects.front();
  return std::none_of(suspects.begin() + 1, suspects.end(), [&](const Suspect& other) {
    const bool here = other.frame.function == way.frame.function;
    if (other.basis == Basis::way_out || other.basis == Basis::way_shared) return true;
    if (other.basis == Basis::sibling_put) return in_source(other) && !here;
    return other.basis == Basis::taken && here && other.frame.line > way.frame.line;
  });
}

}  // namespace

void name_first(std::vector<Suspect>& suspects) {
  if (suspects.empty() || !in_source(suspects.front())) return;
  const Basis basis = suspects.front().basis;
  const bool alone = basis == Basis::twice || basis == Basis::handed_over || basis == Basis::too_many;
  if (alone || (basis == Basis::way_out && is_only_way(suspects))) suspects.front().confidence = "named";
}

}  // namespace refhist
