// The names of one kind and the entries that go by them, while they are collected.
#pragma once

#include <cstdint>
#include <string_view>

#include "symbols/die_refs.h"
#include "symbols/flat_index.h"
#include "symbols/growing_table.h"
#include "symbols/index_progress.h"
#include "symbols/name_index.h"

namespace refhist {

class NameTable {
 public:
  /// `texts` gets each name once.
  explicit NameTable(GrowingTable<char>& texts) : texts_(texts) {}

  /// The row of the name, which is new when it has no entries yet.
  NameRow& row(std::string_view name);
  void add(NameRow& row, DieRef die);
  /// The same with what the entry looks like, for tables in which every entry has that. Does nothing when the
  /// row has one that looks like it.
  void add_unlike(NameRow& row, DieRef die, std::uint64_t look);

  /// Sorts the rows by name and moves their entries to `dies`. Nothing can be added any more.
  GrowingTable<NameRow> finish(GrowingTable<DieRef>& dies, IndexProgress& progress);

 private:
  [[nodiscard]] std::string_view text(const NameRow& row) const {
    return {texts_.rows().data() + row.text, row.length};
  }

  GrowingTable<char>& texts_;
  GrowingTable<NameRow> rows_;  // `first` is the row's last entry
  FlatIndex index_;
  GrowingTable<DieRef> dies_;
  GrowingTable<std::uint32_t> next_;  // of each entry, in a circle
  GrowingTable<std::uint64_t> looks_;
};

}  // namespace refhist
