#include "symbols/debug_info.h"

#include <algorithm>

#include "symbols/index_cache.h"
#include "symbols/local_pointers.h"
#include "symbols/module.h"
#include "symbols/name_index_builder.h"
#include "symbols/parameter_values.h"
#include "symbols/type_members.h"
#include "symbols/type_spelling.h"

namespace refhist {

std::unique_ptr<DebugInfo> DebugInfo::open(const ElfFile& file, const std::string& module) {
  std::unique_ptr<DebugInfo> info(new DebugInfo(file, module));
  return info->knows_names() || info->opened().dwarf != nullptr ? std::move(info) : nullptr;
}

DebugInfo::Opened& DebugInfo::opened() {
  if (opened_ == nullptr)
    opened_ = std::make_unique<Opened>(dwarf_begin_elf(file_.elf(), DWARF_C_READ, nullptr), module_);
  return *opened_;
}

/// Of a file with what dwz shares among several, only libdw knows the other one.
bool DebugInfo::knows_names() {
  if (file_.has_section(".gnu_debugaltlink")) return false;
  TableFile tables = kept_tables(index_file(file_, nullptr, "names"), kNameIndexKind, kNameIndexVersion);
  if (tables.empty()) return false;
  names_ = std::make_unique<NameIndex>(std::move(tables), [this]() -> DieRefs& { return opened().refs; });
  names_are_kept_ = true;
  return true;
}

const NameIndex& DebugInfo::names() {
  if (names_ == nullptr) {
    TableFile tables = kept("names", kNameIndexKind, kNameIndexVersion,
                            [this] { return NameIndexBuilder(opened().units, opened().refs).tables(); });
    names_ = std::make_unique<NameIndex>(std::move(tables), [this]() -> DieRefs& { return opened().refs; });
  }
  return *names_;
}

/// Function bodies are only walked once a name is known to be inlined somewhere.
const InlineIndex& DebugInfo::inlined() {
  if (inlined_ == nullptr) {
    TableFile tables = kept("inlined", kInlineIndexKind, kInlineIndexVersion,
                            [this] { return InlineIndex::tables(opened().units, opened().refs); });
    inlined_ = std::make_unique<InlineIndex>(std::move(tables), opened().refs);
  }
  return *inlined_;
}

TableFile DebugInfo::kept(std::string_view name, std::uint32_t kind, std::uint32_t version,
                          const std::function<TableFile()>& make) {
  Dwarf* alternative = dwarf_getalt(opened().dwarf);
  const std::string path =
      index_file(file_, alternative == nullptr ? nullptr : dwarf_getelf(alternative), name);
  // What is missing today may be found tomorrow.
  return kept_tables(path, kind, version, make,
                     [this] { return opened().refs.portable() && missing().empty(); });
}

namespace {

/// A plain name alone never means a function in a class or namespace.
bool is_called(const Dwarf_Die& function, std::string_view name) {
  const std::string_view linkage = die_linkage_name(function);
  const bool plain = !name.starts_with("_Z") && name.find(':') == std::string_view::npos;
  if (!plain || !linkage.starts_with("_Z")) return true;
  const std::string mangled = std::to_string(name.size()) + std::string(name);
  return linkage.substr(2).starts_with(mangled) || linkage.substr(2).starts_with("L" + mangled);
}

/// GCC splits `f` into an early test and f.part, and may inline the part back: f then holds an "inlined f"
/// whose call stands where f is declared. That is no second execution of f, as a recursive call would be.
bool is_split_part(const Dwarf_Die& copy, const Dwarf_Die& around, const Dwarf_Die& function) {
  const auto instance = die_reference(around, DW_AT_abstract_origin);
  return instance && instance->addr == function.addr &&
         die_number(copy, DW_AT_call_line) == die_number(function, DW_AT_decl_line) &&
         die_number(copy, DW_AT_call_column) == die_number(function, DW_AT_decl_column);
}

}  // namespace

std::vector<InlinedCopy> DebugInfo::inlined_copies(std::string_view name) {
  std::vector<InlinedCopy> copies;
  for (const Dwarf_Die& function : names().inlined_functions(name)) {
    if (!is_called(function, name)) continue;
    for (const InlinedEntry& entry : inlined().copies(function)) {
      const auto address = die_entry(entry.copy);
      if (!address || is_split_part(entry.copy, entry.parent, function)) continue;
      InlinedCopy copy;
      copy.address = *address;
      copy.ranges = die_ranges(entry.copy);
      copy.into = opened().sources.function_name(entry.parent);
      SourceFinder::set_call_place(entry.copy, copy.file, copy.line);
      DebugUnit* unit = opened().units.at(*address);
      copy.parameters = parameter_values(entry.copy, unit == nullptr ? nullptr : unit->function_at(*address));
      copies.push_back(std::move(copy));
    }
  }
  std::sort(copies.begin(), copies.end(),
            [](const InlinedCopy& a, const InlinedCopy& b) { return a.address < b.address; });
  return copies;
}

std::optional<Signature> DebugInfo::signature(const std::string& linkage_name, Address entry) {
  DebugUnit* unit = opened().units.at(entry);
  const Dwarf_Die* function = unit == nullptr ? nullptr : unit->function_at(entry);
  if (function == nullptr || die_entry(*function) != entry) return std::nullopt;
  return read_signature(linkage_name, *function);
}

std::optional<Signature> DebugInfo::inlined_signature(const std::string& name) {
  for (const Dwarf_Die& function : names().inlined_functions(name)) {
    if (is_called(function, name)) return read_signature(name, function);
  }
  // With its parameters, as a frame has it.
  const std::size_t parameters = name.find('(');
  if (parameters == std::string::npos || parameters == 0) return std::nullopt;
  for (const Dwarf_Die& function : names().inlined_functions(name.substr(0, parameters))) {
    if (demangle(std::string(die_linkage_name(function))) == name) return read_signature(name, function);
  }
  return std::nullopt;
}

VariableAt DebugInfo::variable_at(Address code, const DataSymbol& variable, std::uint64_t offset) {
  DebugUnit* unit = opened().units.at(code);
  VariableAt found;
  if (unit == nullptr) return found;
  const auto read = [&](const Dwarf_Die& die) {
    found = TypeMembers(names()).in_variable(die_type(die), offset);
    found.name = qualified_name(die);
  };
  if (const Dwarf_Die* own = unit->variable_at(variable.address)) {
    read(*own);
    return found;
  }
  for_each_child(unit->contents(), [&](const Dwarf_Die& child) {  // those that another unit defines
    if (die_tag(child) == DW_TAG_variable && die_name(child) == variable.name) read(child);
  });
  return found;
}

std::vector<LocalPointer> DebugInfo::pointers_at(Address code) {
  DebugUnit* unit = opened().units.at(code);
  const Dwarf_Die* function = unit == nullptr ? nullptr : unit->function_at(code);
  if (function == nullptr) return {};
  return local_pointers(*function, code, TypeSpelling(names(), false));
}

Signature DebugInfo::read_signature(const std::string& name, const Dwarf_Die& function) {
  const TypeSpelling types(names(), is_c(function));
  Signature signature{.function = name,
                      .result_type = types.spell(die_type(function)),
                      .result_pointee = types.pointee(die_type(function)),
                      .returns_pointer = TypeSpelling::is_pointer(die_type(function)),
                      .hands_nothing_out = TypeSpelling::is_number(die_type(function)),
                      .parameters = {}};
  // The abstract instance has the parameters as they were written; a clone's own may be fewer.
  const Dwarf_Die written = die_reference(function, DW_AT_abstract_origin).value_or(function);
  for_each_child(written, [&](const Dwarf_Die& child) {
    // "__in_chrg" of constructors and destructors is no argument of what GCC makes of them.
    if (die_tag(child) != DW_TAG_formal_parameter || die_name(child) == "__in_chrg") return;
    const auto type = die_type(child);
    if (TypeSpelling::leads_to_pointer(type)) signature.hands_nothing_out = false;
    signature.parameters.push_back(
        {.name = std::string(die_name(child)), .type = types.spell(type), .pointee = types.pointee(type)});
  });
  return signature;
}

}  // namespace refhist
