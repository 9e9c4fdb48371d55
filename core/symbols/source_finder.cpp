#include "symbols/source_finder.h"

#include <algorithm>
#include <bit>
#include <filesystem>

namespace refhist {

namespace {

/// Appends the inlined copies that hold the address, outermost first.
void collect_inlined(const Dwarf_Die& scope, Address address, std::vector<Dwarf_Die>& chain) {
  std::optional<Dwarf_Die> inside;
  for_each_child(scope, [&](const Dwarf_Die& child) {
    if (inside || !is_inner_scope(die_tag(child))) return;
    Dwarf_Die copy = child;
    if (dwarf_haspc(&copy, address) == 1) inside = child;
  });
  if (!inside) return;
  if (die_tag(*inside) == DW_TAG_inlined_subroutine) chain.push_back(*inside);
  collect_inlined(*inside, address, chain);
}

/// Of a file that is named from where its compiler ran, as clang does.
std::string full_path(const Dwarf_Die& unit, const char* name) {
  if (name == nullptr || name[0] == '/') return name == nullptr ? "" : name;
  Dwarf_Die copy = unit;
  Dwarf_Attribute found;
  const char* folder = dwarf_formstring(dwarf_attr_integrate(&copy, DW_AT_comp_dir, &found));
  return folder == nullptr ? name : (std::filesystem::path(folder) / name).lexically_normal().string();
}

void set_line(const Dwarf_Die& unit, Address address, SourceFrame& frame) {
  Dwarf_Die copy = unit;
  Dwarf_Line* line = dwarf_getsrc_die(&copy, address);
  if (line == nullptr) return;
  int number = 0;
  frame.file = full_path(unit, dwarf_linesrc(line, nullptr, nullptr));
  if (dwarf_lineno(line, &number) == 0 && number > 0) frame.line = static_cast<unsigned>(number);
}

}  // namespace

std::vector<SourceFrame> SourceFinder::frames(Address address) {
  std::vector<SourceFrame> frames;
  DebugUnit* unit = units_.at(address);
  if (unit == nullptr) return frames;
  SourceFrame next;
  set_line(unit->skeleton(), address, next);
  std::vector<Dwarf_Die> chain;
  if (const Dwarf_Die* function = unit->function_at(address)) {
    chain.push_back(*function);
    collect_inlined(*function, address, chain);
  }
  for (; !chain.empty(); chain.pop_back()) {
    next.inlined = die_tag(chain.back()) == DW_TAG_inlined_subroutine;
    next.function = function_name(chain.back());
    frames.push_back(next);
    next = {};
    if (chain.size() > 1) set_call_place(chain.back(), next.file, next.line);
  }
  if (frames.empty() && !next.file.empty()) frames.push_back(next);
  return frames;
}

std::vector<LineRow> SourceFinder::rows(const FileRange& range, Address of) {
  std::vector<LineRow> rows;
  DebugUnit* unit = units_.at(of);
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  Dwarf_Die copy = unit == nullptr ? Dwarf_Die() : unit->skeleton();
  if (unit == nullptr || dwarf_getsrclines(&copy, &lines, &count) != 0) return rows;
  const auto address_of = [&](std::size_t index) {
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, index), &address);
    return address;
  };
  std::size_t first = 0;
  for (std::size_t step = std::bit_floor(count); step != 0; step /= 2) {
    if (first + step <= count && address_of(first + step - 1) < range.begin) first += step;
  }
  for (std::size_t i = first; i < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    LineRow row{.address = address_of(i)};
    if (row.address >= range.end) break;
    int number = 0;
    if (dwarf_lineno(line, &number) == 0) row.line = static_cast<unsigned>(number);
    Dwarf_Files* files = nullptr;
    std::size_t file = 0;
    if (dwarf_line_file(line, &files, &file) == 0) row.file = file;
    dwarf_linebeginstatement(line, &row.statement);
    dwarf_lineprologueend(line, &row.ends_prologue);
    dwarf_lineendsequence(line, &row.ends_sequence);
    rows.push_back(row);
  }
  return rows;
}

void SourceFinder::set_call_place(const Dwarf_Die& inlined, std::string& file, unsigned& line) {
  line = static_cast<unsigned>(die_number(inlined, DW_AT_call_line).value_or(0));
  const auto index = die_number(inlined, DW_AT_call_file);
  Dwarf_Die copy = inlined;
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (!index || dwarf_diecu(&copy, &unit, nullptr, nullptr) == nullptr ||
      dwarf_getsrcfiles(&unit, &files, &count) != 0 || *index >= count) {
    return;
  }
  file = full_path(unit, dwarf_filesrc(files, *index, nullptr, nullptr));
}

std::string SourceFinder::function_name(const Dwarf_Die& die) {
  const auto origin = die_reference(die, DW_AT_abstract_origin);
  const auto [found, is_new] = names_.try_emplace(origin ? origin->addr : die.addr);
  if (is_new) found->second = make_function_name(die);
  return found->second;
}

std::string SourceFinder::make_function_name(const Dwarf_Die& die) {
  const std::string_view linkage = die_linkage_name(die);
  if (!linkage.empty()) return demangle(std::string(linkage));
  if (die_name(die).empty()) return {};
  // `extern "C"` and C functions are known by their plain name.
  return is_c(die) ? std::string(die_name(die)) : qualified_name(die);
}

}  // namespace refhist
