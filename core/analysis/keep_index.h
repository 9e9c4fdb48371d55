// Where the functions of one module may keep a pointer: their calls by what they enter, and their stores of a
// register by how far behind the address in another register.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "symbols/module.h"

namespace refhist {

class KeepIndex {
 public:
  explicit KeepIndex(const Module& module);

  using Places = std::unordered_map<Address, std::set<Address>>;  ///< of instructions, by function's begin
  /// Calls and jumps to the address, or through it, from other functions than the one that it is in.
  [[nodiscard]] const Places& calls(Address target) const;
  [[nodiscard]] const std::unordered_map<Address, Places>& all_calls() const { return calls_; }
  /// Calls and jumps through the pointer that is so far behind the address in a register.
  [[nodiscard]] const Places& calls_through(std::int64_t offset) const;
  /// Functions that have the address, or what lies there, in a register, by it.
  [[nodiscard]] const std::unordered_map<Address, std::set<Address>>& named() const { return named_; }
  /// Of 8 bytes; those to a global variable by its address.
  [[nodiscard]] const Places& stores(std::int64_t offset) const;
  /// Of several words at once, of which the last ones may lie at that offset: how far behind where they store
  /// to, by instruction.
  using Copies = std::unordered_map<Address, std::map<Address, std::int64_t>>;
  [[nodiscard]] const Copies& copies(std::int64_t offset) const;
  /// Instructions that copy as much as a register says.
  [[nodiscard]] const Places& block_copies() const { return block_copies_; }
  /// The same of a null pointer.
  [[nodiscard]] const Places& clears(std::int64_t offset) const;

 private:
  void read(const FunctionSymbol& function);

  const Module& module_;
  std::unordered_map<Address, Places> calls_;
  std::unordered_map<std::int64_t, Places> calls_through_;
  std::unordered_map<Address, std::set<Address>> named_;
  std::unordered_map<std::int64_t, Places> stores_;
  std::unordered_map<std::int64_t, Places> clears_;
  std::unordered_map<std::int64_t, Copies> copies_;
  Places block_copies_;
};

}  // namespace refhist
