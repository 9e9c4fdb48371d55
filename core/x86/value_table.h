// What a register or stack slot holds while a function's body is walked, as far as it can be told from the
// function's arguments: "argument 1 plus 8", "what lies at argument 1 plus 8, plus 1", a constant.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/types.h"

namespace refhist {

using PlaceId = Id<struct PlaceTag>;

/// `place` plus `offset`. Loading from a value gives another place, so a loaded counter with one added is the
/// place "content of that cell" with offset 1.
struct Value {
  PlaceId place;
  std::int64_t offset = 0;
  bool exact = true;  ///< false: an unknown index was added to the offset

  [[nodiscard]] bool known() const { return place.valid(); }
  bool operator==(const Value&) const = default;
};

class ValueTable {
 public:
  static constexpr unsigned kArguments = 6;

  ValueTable();

  [[nodiscard]] Value argument(unsigned number) const;  ///< 1-based
  [[nodiscard]] Value stack() const;
  [[nodiscard]] Value constant(std::int64_t value) const;
  Value fresh();                        ///< a result that nothing is known about
  Value content(const Value& address);  ///< what lies in memory at the address

  [[nodiscard]] bool is_constant(const Value& value) const;
  [[nodiscard]] bool is_stack(const Value& value) const;
  /// The value was loaded from exactly this address, apart from its offset.
  [[nodiscard]] bool is_content_of(const Value& value, const Value& address) const;

  /// The address that the value was loaded from; unknown when it was not loaded.
  [[nodiscard]] Value loaded_from(const Value& value) const;

  /// The argument (1-based) that the value is reached from; 0 when none.
  [[nodiscard]] unsigned root_argument(const Value& value) const;
  /// What the value is reached from: an argument, the stack, a constant or a result.
  [[nodiscard]] Value root(const Value& value) const;
  /// Offsets from the root to the value, one for each step: {8} is argument + 8, {8, 0} what is found
  /// there.
  [[nodiscard]] std::vector<std::int64_t> path(const Value& value) const;

 private:
  struct Place {
    Value address;  // of the cell this is the content of; unknown for arguments and the like
    unsigned argument = 0;
  };

  std::vector<Place> places_;
  std::map<std::tuple<std::uint32_t, std::int64_t, bool>, PlaceId> contents_;
};

}  // namespace refhist
