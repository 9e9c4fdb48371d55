// What leads where in the code of one module: direct branches, addresses that code takes, entries of jump
// tables, pointers in data. Built once for a module; then asked for the few bytes that a patch would cover.
//
// Branches with 4-byte displacements are found by looking at the bytes, at every offset: that is fast (1 ns a
// byte) and finds those in code that nobody can decode in step. What only looks like a branch is found too;
// before it counts, the function around it is decoded from its start. Branches with 1-byte displacements are
// looked for in the 128 bytes around the question.
//
// Jump tables of GCC and clang are arrays of 4-byte distances from the table to the code, and a `lea` in the
// code takes the table's address. Every `lea` into data is taken for one, and read as long as its entries
// lead into code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "x86/code_range.h"
#include "x86/decoded_instruction.h"

namespace refhist {

class BranchTargets {
 public:
  /// The ranges stay valid as long as this object. `starts`: sorted, where functions are known to begin.
  /// `data` may be empty: then indirect jumps cannot be resolved. Pointers in data are file addresses, `bias`
  /// below those in memory.
  BranchTargets(std::vector<CodeRange> code, std::vector<CodeRange> data, std::vector<Address> starts,
                Address bias);

  /// Why [first, last) cannot be covered, other than for what the instructions in `own` do; empty when it
  /// can.
  [[nodiscard]] std::string why_not_covered(Address first, Address last, const CodeRange& own) const;
  /// True when jump tables and pointers have been looked at too.
  [[nodiscard]] bool knows_data() const { return !data_.empty(); }

 private:
  enum class Kind : std::uint8_t { branch, address_taken, table, pointer };
  struct Found {
    std::uint32_t target;  // from the lowest address
    std::uint32_t source;  // of the displacement, or of the pointer
    Kind kind;
  };

  void find_span();
  void scan_code(const CodeRange& range);
  void note(Address target, Address source, Kind kind);
  void read_tables();
  void read_table(Address table, Address source);
  void scan_pointers();
  void sort_found();
  [[nodiscard]] const CodeRange* code_at(Address address) const;
  [[nodiscard]] std::string why_not_long(Address first, Address last, const CodeRange& own) const;
  [[nodiscard]] std::string why_not_short(Address first, Address last, const CodeRange& own) const;
  [[nodiscard]] bool confirmed(Address source, Address target) const;

  std::vector<CodeRange> code_;
  std::vector<CodeRange> data_;
  std::vector<Address> starts_;
  Address bias_;
  Address lowest_ = 0;  // of code and data
  Address highest_ = 0;
  std::vector<std::pair<Address, Address>> tables_;  // address, displacement of the lea
  std::vector<Found> found_;                         // by bucket of targets
  std::vector<std::uint32_t> buckets_;               // where each begins in found_
  InstructionDecoder decoder_;
};

}  // namespace refhist
