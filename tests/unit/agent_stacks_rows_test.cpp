// The compact rows of whole modules against what libdw says at every byte of code.
#include <doctest/doctest.h>
#include <elf.h>

#include <filesystem>
#include <random>
#include <set>

#include "agent_tables/compact_cfi.h"
#include "symbols/dwarf_expression.h"

using namespace refhist;
using agent::FrameRule;
using agent::RuleKind;

namespace {

/// What one step leads to.
struct Caller {
  Address cfa = 0;
  Address rsp = 0;
  Address rbp = 0;
  Address rbx = 0;  // where it is told
  Address pc = 0;
  bool outermost = false;
  bool operator==(const Caller&) const = default;
};

/// Memory in which every word has a value of its own.
Address word_at(Address address) { return (address ^ 0x5bd1e995) * 0x9e3779b97f4a7c15ULL; }

const WordReader kMemory = [](Address address, std::size_t) { return std::optional(word_at(address)); };

Address signed_offset(std::int64_t offset) { return static_cast<Address>(offset); }

Caller by_compact(FrameRule rule, const Registers& registers) {
  Caller caller;
  switch (rule.kind()) {
    case RuleKind::none:
      FAIL("no rule");
      break;
    case RuleKind::outermost:
      return {.outermost = true};
    case RuleKind::signal:
      caller.cfa = caller.rsp = word_at(registers.sp() + 160);
      caller.rbp = word_at(registers.sp() + 120);
      caller.pc = word_at(registers.sp() + 168);
      return caller;
    case RuleKind::rsp:
      caller.cfa = registers.sp() + signed_offset(rule.offset());
      break;
    case RuleKind::rbp:
      caller.cfa = registers[kRbp] + signed_offset(rule.offset());
      break;
    case RuleKind::plt:
      caller.cfa = registers.sp() + ((registers.pc() & 15) >= rule.plt_threshold() ? 16 : 8);
      break;
    case RuleKind::deref_rsp:
      caller.cfa =
          word_at(registers.sp() + signed_offset(rule.deref_at())) + signed_offset(rule.deref_offset());
      break;
    case RuleKind::deref_rbp:
      caller.cfa =
          word_at(registers[kRbp] + signed_offset(rule.deref_at())) + signed_offset(rule.deref_offset());
      break;
    case RuleKind::rsp_rbx:
      caller.cfa = registers.sp() + signed_offset(rule.rsp_rbx_offset());
      caller.rbx = registers[kRbx];
      if (rule.rbx_save() != 0) caller.rbx = word_at(caller.cfa - Address{8} * rule.rbx_save());
      break;
    case RuleKind::other:
      caller.cfa = registers[rule.other_register()] + signed_offset(rule.other_offset());
      break;
  }
  caller.rsp = caller.cfa;
  caller.pc = word_at(caller.cfa - 8);
  caller.rbp = registers[kRbp];
  if (rule.rbp_save() == FrameRule::kRbpAtRbp) {
    caller.rbp = word_at(registers[kRbp]);
  } else if (rule.rbp_save() != FrameRule::kRbpKept) {
    caller.rbp = word_at(caller.cfa - Address{8} * rule.rbp_save());
  }
  return caller;
}

Address saved(const RegisterRule& rule, unsigned number, const Registers& registers, Address cfa) {
  using Kind = RegisterRule::Kind;
  switch (rule.kind) {
    case Kind::same:
    case Kind::undefined:
      return registers[number];
    case Kind::at_cfa_offset:
      return word_at(cfa + signed_offset(rule.offset));
    case Kind::cfa_plus:
      return cfa + signed_offset(rule.offset);
    case Kind::in_register:
      return registers[rule.source];
    case Kind::is_expression:
      return evaluate_expression(rule.expression, registers, cfa, kMemory).value();
    case Kind::at_expression:
      return word_at(evaluate_expression(rule.expression, registers, cfa, kMemory).value());
  }
  return 0;
}

Caller by_libdw(const UnwindRule& rule, const Registers& registers, bool with_rbx) {
  if (rule.registers[kRip].kind == RegisterRule::Kind::undefined) return {.outermost = true};
  Caller caller;
  caller.cfa = rule.cfa_by_expression
                   ? evaluate_expression(rule.cfa_expression, registers, std::nullopt, kMemory).value()
                   : registers[rule.cfa_register] + signed_offset(rule.cfa_offset);
  caller.rbp = saved(rule.registers[kRbp], kRbp, registers, caller.cfa);
  if (with_rbx) caller.rbx = saved(rule.registers[kRbx], kRbx, registers, caller.cfa);
  caller.rsp = saved(rule.registers[kRsp], kRsp, registers, caller.cfa);
  caller.pc = saved(rule.registers[kRip], kRip, registers, caller.cfa);
  return caller;
}

class Comparison {
 public:
  explicit Comparison(const std::string& path) : module_(Module::open(path)), cfi_(*module_) {}

  void run() {
    for (const Segment& segment : module_->segments()) {
      if (!segment.executable) continue;
      for (Address at = segment.address; at < segment.address + segment.file_size; ++at) compare(at);
    }
  }

  std::size_t said = 0;
  std::size_t unsaid = 0;
  std::size_t different = 0;

  const CompactCfi& cfi() const { return cfi_; }

 private:
  void compare(Address address) {
    const FrameRule mine = cfi_.rule(address);
    const UnwindRule* theirs = module_->unwind_rule(address);
    if (theirs == nullptr) {
      const bool start = mine.kind() == RuleKind::outermost && address - module_->entry_point() < 64;
      if (mine.kind() != RuleKind::none && !start) report(address, "is not covered");
      return;
    }
    if (mine.kind() == RuleKind::none) {
      ++unsaid;
      return;
    }
    ++said;
    // The rule of a PLT depends on the address; any other pair need be tried once only.
    if (mine.kind() != RuleKind::plt && !seen_.insert({theirs, mine.bits}).second) return;
    if ((mine.kind() == RuleKind::signal) != theirs->signal_frame && mine.kind() != RuleKind::outermost) {
      return report(address, "is a signal frame for one of the two");
    }
    for (int trial = 0; trial < 4; ++trial) {
      Registers registers;
      for (Address& value : registers.value) value = random_() & ~Address{7};
      registers[kRip] = address;
      const bool rbx = mine.kind() == RuleKind::rsp_rbx;
      if (!(by_compact(mine, registers) == by_libdw(*theirs, registers, rbx)))
        return report(address, "differs");
    }
  }

  void report(Address address, const char* what) {
    if (++different < 4) MESSAGE(module_->path(), ": ", std::to_string(address), " ", what);
  }

  std::shared_ptr<const Module> module_;
  CompactCfi cfi_;
  std::set<std::pair<const UnwindRule*, std::uint32_t>> seen_;
  std::mt19937_64 random_{1};
};

const std::string kLibraries = "/usr/lib/x86_64-linux-gnu/";

}  // namespace

TEST_CASE("Compact rows say what libdw says at every byte of code") {
  std::string path;
  SUBCASE("libc") { path = kLibraries + "libc.so.6"; }
  SUBCASE("libstdc++") { path = kLibraries + "libstdc++.so.6"; }
  SUBCASE("libgobject") { path = kLibraries + "libgobject-2.0.so.0"; }
  SUBCASE("libcrypto") { path = kLibraries + "libcrypto.so.3"; }
  SUBCASE("ld.so") { path = "/lib64/ld-linux-x86-64.so.2"; }
  SUBCASE("this program") { path = std::filesystem::read_symlink("/proc/self/exe"); }
  if (!std::filesystem::exists(path)) {
    MESSAGE("not on this machine: ", path);
    return;
  }
  Comparison comparison(path);
  comparison.run();
  CHECK(comparison.different == 0);
  CHECK(comparison.said > 1000);
  CHECK(comparison.cfi().rows().size() > 100);
  // Assembly that keeps the CFA in a way of its own; nothing that a compiler makes.
  CHECK(comparison.unsaid * 500 <= comparison.said);
  std::size_t counted = 0;
  for (const auto& [why, unsaid] : comparison.cfi().unsaid()) counted += unsaid.bytes;
  CHECK(counted == comparison.unsaid);
}

TEST_CASE("The rows of a module are in order, and neighbours differ") {
  const auto module = Module::open(kLibraries + "libc.so.6");
  const CompactCfi cfi(*module);
  const auto& rows = cfi.rows();
  REQUIRE(!rows.empty());
  CHECK(rows.front().begin == 0);
  CHECK(rows.back().rule.kind() == RuleKind::none);
  std::size_t wrong = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].begin <= rows[i - 1].begin || rows[i].rule == rows[i - 1].rule) ++wrong;
  }
  CHECK(wrong == 0);
  const auto blocks = cfi.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t begin = std::uint64_t{i} << agent::kBlockShift;
    if (rows[blocks[i]].begin > begin) ++wrong;
    if (blocks[i] + 1 < rows.size() && rows[blocks[i] + 1].begin <= begin) ++wrong;
  }
  CHECK(wrong == 0);
}
