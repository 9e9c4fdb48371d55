#include "symbols/symbol_table.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace refhist {

namespace {

std::string without_version(std::string_view name) { return std::string(name.substr(0, name.find('@'))); }

/// True when people would rather write `a` than its alias `b`: malloc, not __libc_malloc.
bool preferred(const FunctionSymbol& a, const FunctionSymbol& b) {
  const auto key = [](const FunctionSymbol& f) {
    const std::size_t underscores = std::min(f.name.find_first_not_of('_'), f.name.size());
    return std::make_tuple(underscores, !f.exported, f.name.size(), std::string_view(f.name));
  };
  return key(a) < key(b);
}

int no_debug_info(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;
}

}  // namespace

SymbolTable::SymbolTable(const ElfFile& main, const ElfFile* debug) {
  Ends ends;
  read(main, SHT_DYNSYM, ends);
  read(main, SHT_SYMTAB, ends);
  if (debug != nullptr) read(*debug, SHT_SYMTAB, ends);
  if (debug == nullptr && main.has_section(".gnu_debugdata")) read_mini_debug_info(main.path());
  merge();
  index(ends);
  index_objects();
}

void SymbolTable::read(const ElfFile& file, std::uint32_t section_type, Ends& ends) {
  Elf_Scn* section = file.section_of_type(section_type);
  GElf_Shdr shdr;
  if (section == nullptr || gelf_getshdr(section, &shdr) == nullptr || shdr.sh_entsize == 0) return;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr) return;
  const bool exported = section_type == SHT_DYNSYM;
  for (std::size_t i = 1; i < data->d_size / shdr.sh_entsize; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
    add(elf_strptr(file.elf(), shdr.sh_link, symbol.st_name), symbol, exported);
    if (symbol.st_size != 0 || exported) continue;
    GElf_Shdr home;
    Elf_Scn* home_section = elf_getscn(file.elf(), symbol.st_shndx);
    if (home_section != nullptr && gelf_getshdr(home_section, &home) != nullptr) {
      ends[symbol.st_value] = home.sh_addr + home.sh_size;
    }
  }
}

void SymbolTable::add(const char* name, const GElf_Sym& symbol, bool exported) {
  if (name == nullptr || *name == '\0') return;
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC || type == STT_GNU_IFUNC) {
    functions_.push_back({.name = without_version(name),
                          .address = symbol.st_value,
                          .size = symbol.st_size,
                          .exported = exported,
                          .ifunc = type == STT_GNU_IFUNC});
  } else if (type == STT_OBJECT || (type == STT_NOTYPE && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL)) {
    data_.emplace(without_version(name), symbol.st_value);
    if (symbol.st_size != 0) {
      objects_.push_back({.name = without_version(name), .address = symbol.st_value, .size = symbol.st_size});
    }
  }
}

// libdwfl decompresses .gnu_debugdata; it is used for nothing else, and never asked for debug files.
void SymbolTable::read_mini_debug_info(const std::string& path) {
  static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = no_debug_info,
                                            .section_address = dwfl_offline_section_address,
                                            .debuginfo_path = nullptr};
  Dwfl* dwfl = dwfl_begin(&kCallbacks);
  if (dwfl == nullptr) return;
  dwfl_report_begin(dwfl);
  Dwfl_Module* module = dwfl_report_elf(dwfl, "module", path.c_str(), -1, 0, true);
  dwfl_report_end(dwfl, nullptr, nullptr);
  const int count = module == nullptr ? 0 : dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    const char* name = dwfl_module_getsym(module, i, &symbol, nullptr);
    if (name != nullptr && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS)
      add(name, symbol, false);
  }
  dwfl_end(dwfl);
}

void SymbolTable::merge() {
  std::sort(functions_.begin(), functions_.end(), [](const FunctionSymbol& a, const FunctionSymbol& b) {
    return std::tie(a.name, a.address) < std::tie(b.name, b.address);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    FunctionSymbol& next = functions_[i];
    if (kept > 0 && functions_[kept - 1].name == next.name && functions_[kept - 1].address == next.address) {
      FunctionSymbol& same = functions_[kept - 1];
      same.size = std::max(same.size, next.size);
      same.exported = same.exported || next.exported;
      same.ifunc = same.ifunc || next.ifunc;
    } else {
      if (kept != i) functions_[kept] = std::move(next);
      ++kept;
    }
  }
  functions_.resize(kept);
  functions_.shrink_to_fit();
}

// A function without a size (hand-written assembly in .symtab) reaches to the next one of its section.
void SymbolTable::index(const Ends& ends) {
  std::vector<std::uint32_t> order(functions_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    if (functions_[a].address != functions_[b].address) return functions_[a].address < functions_[b].address;
    return preferred(functions_[b], functions_[a]);
  });
  std::vector<std::pair<Address, Address>> extents(order.size());
  Address next_begin = ~Address{0};
  for (std::size_t i = order.size(); i-- > 0;) {
    const FunctionSymbol& function = functions_[order[i]];
    const Address begin = function.address;
    if (i + 1 < order.size() && functions_[order[i + 1]].address != begin) next_begin = extents[i + 1].first;
    Address end = begin + function.size;
    if (function.size == 0) {
      const auto section_end = ends.find(begin);
      end = section_end == ends.end() ? begin + 1
                                      : std::max(begin + 1, std::min(next_begin, section_end->second));
    }
    extents[i] = {begin, end};
  }
  for (std::size_t i = 0; i < order.size(); ++i) covers_.add(extents[i].first, extents[i].second, order[i]);
  covers_.finish();
}

// Of several names for one object the one with the fewest underscores is last, and so wins.
void SymbolTable::index_objects() {
  const auto key = [](const DataSymbol& o) {
    return std::make_tuple(o.address, ~std::min(o.name.find_first_not_of('_'), o.name.size()), ~o.name.size(),
                           std::string_view(o.name));
  };
  std::sort(objects_.begin(), objects_.end(),
            [&](const DataSymbol& a, const DataSymbol& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const DataSymbol& object = objects_[i];
    objects_covers_.add(object.address, object.address + object.size, static_cast<std::uint32_t>(i));
  }
  objects_covers_.finish();
}

std::vector<FunctionSymbol> SymbolTable::named(std::string_view name) const {
  const auto first = std::lower_bound(functions_.begin(), functions_.end(), name,
                                      [](const FunctionSymbol& f, std::string_view n) { return f.name < n; });
  auto last = first;
  while (last != functions_.end() && last->name == name) ++last;
  return {first, last};
}

const FunctionSymbol* SymbolTable::at(Address address) const {
  const std::uint32_t* found = covers_.find(address);
  return found == nullptr ? nullptr : &functions_[*found];
}

const DataSymbol* SymbolTable::data_at(Address address) const {
  const std::uint32_t* found = objects_covers_.find(address);
  return found == nullptr ? nullptr : &objects_[*found];
}

std::optional<Address> SymbolTable::data(std::string_view name) const {
  const auto found = data_.find(std::string(name));
  return found == data_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace refhist
