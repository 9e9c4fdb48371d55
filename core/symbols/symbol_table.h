// Functions and data objects of one module, merged from .dynsym, .symtab (its own or its debug file's) and
// .gnu_debugdata. Built once, on first need.
#pragma once

#include <unordered_map>

#include "symbols/elf_file.h"
#include "symbols/interval_table.h"
#include "symbols/module.h"

namespace refhist {

class SymbolTable {
 public:
  /// `debug` may be null. Both are only read here.
  SymbolTable(const ElfFile& main, const ElfFile* debug);

  [[nodiscard]] const std::vector<FunctionSymbol>& functions() const { return functions_; }
  [[nodiscard]] std::vector<FunctionSymbol> named(std::string_view name) const;
  /// The innermost function that covers the address; of aliases the one that people would write.
  [[nodiscard]] const FunctionSymbol* at(Address address) const;
  [[nodiscard]] std::optional<Address> data(std::string_view name) const;
  /// The object (data) symbol that covers the address; of aliases the one that people would write.
  [[nodiscard]] const DataSymbol* data_at(Address address) const;

 private:
  using Ends =
      std::unordered_map<Address, Address>;  // of functions that have no size: where their section ends

  void read(const ElfFile& file, std::uint32_t section_type, Ends& ends);
  void read_mini_debug_info(const std::string& path);
  void add(const char* name, const GElf_Sym& symbol, bool exported);
  void merge();
  void index(const Ends& ends);
  void index_objects();

  std::vector<FunctionSymbol> functions_;  // by name, then address
  IntervalTable<std::uint32_t> covers_;    // index into functions_
  std::unordered_map<std::string, Address> data_;
  std::vector<DataSymbol> objects_;              // those with a size; the preferred alias last
  IntervalTable<std::uint32_t> objects_covers_;  // index into objects_
};

}  // namespace refhist
