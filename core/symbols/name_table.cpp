#include "symbols/name_table.h"

#include <algorithm>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace refhist {

NameRow& NameTable::row(std::string_view name) {
  const auto next = static_cast<std::uint32_t>(rows_.size());
  const std::uint32_t found =
      index_.find_or_add(XXH3_64bits(name.data(), name.size()), next,
                         [&](std::uint32_t known) { return text(rows_[known]) == name; });
  if (found == next) {
    rows_.push_back({.text = texts_.size(),
                     .first = 0,
                     .length = static_cast<std::uint32_t>(name.size()),
                     .count = 0,
                     .linkage = 0,
                     .unused = 0});
    texts_.append(name);
  }
  return rows_[found];
}

void NameTable::add(NameRow& row, DieRef die) {
  const auto entry = static_cast<std::uint32_t>(dies_.size());
  dies_.push_back(die);
  next_.push_back(row.count == 0 ? entry : next_[row.first]);
  if (row.count != 0) next_[row.first] = entry;
  row.first = entry;
  ++row.count;
}

void NameTable::add_unlike(NameRow& row, DieRef die, std::uint64_t look) {
  for (std::uint32_t i = 0, entry = static_cast<std::uint32_t>(row.first); i < row.count; ++i) {
    if (looks_[entry] == look) return;
    entry = next_[entry];
  }
  looks_.push_back(look);
  add(row, die);
}

GrowingTable<NameRow> NameTable::finish(GrowingTable<DieRef>& dies, IndexProgress& progress) {
  index_ = FlatIndex();
  std::sort(rows_.begin(), rows_.end(), [&](const NameRow& a, const NameRow& b) {
    progress.sorting();
    return text(a) < text(b);
  });
  for (NameRow& row : rows_) {
    const std::uint64_t first = dies.size();
    auto entry = static_cast<std::uint32_t>(row.first);
    for (std::uint32_t i = 0; i < row.count; ++i) {
      entry = next_[entry];
      dies.push_back(dies_[entry]);
    }
    row.first = first;
  }
  dies_ = {};
  next_ = {};
  looks_ = {};
  return std::move(rows_);
}

}  // namespace refhist
