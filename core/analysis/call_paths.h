// How a call that took or gave back a reference was come by: the functions on its stack, from the one in
// whose hands the reference was on outwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/owners.h"
#include "analysis/ways_out.h"

namespace refhist {

struct CallPath {
  struct Step {
    std::uint32_t function = 0;  ///< number of its name
    Address pc = 0;
    bool inlined = false;
    bool hands_nothing_out = false;  ///< FrameNamer's
  };
  std::vector<Step> steps;  ///< never empty; the owner's comes first
  bool by_library = false;  ///< the owner has not called the probe itself, but some library's function
  Held held = Held::unknown;
  /// Numbers of SlotNames::Name's; `member` 0: whichever.
  struct Slot {
    std::uint32_t holder = 0;
    std::uint32_t member = 0;
    bool operator==(const Slot&) const = default;
  };
  std::optional<Slot> slot;        ///< where it is kept in memory that is known
  std::optional<Slot> inner = {};  ///< the same by the innermost struct, where that is another one
};

class CallPaths {
 public:
  CallPaths(FrameNamer& namer, Owners& owners, WaysOut& ways) : namer_(namer), owners_(owners), ways_(ways) {}
  /// Valid as long as this object.
  const CallPath& of(const Event& event);
  /// WaysOut::kept_in, of an event that takes or gives back, or a birth.
  const SlotNames::Name& kept_in(const Event& event);
  [[nodiscard]] std::uint32_t number_of(const std::string& function);
  [[nodiscard]] const std::string& name_of(std::uint32_t function) const { return names_[function]; }
  /// How the one that gives back stands to the one that took. With `same_call`, as far as stacks tell, both
  /// are inside of one call of the same function: so far out on the stack of the get, and so far out on that
  /// of the put; 0 and 0 when that function does both itself. Else `get` is where the function that puts
  /// stands on the stack of the get, in another call of it. Nothing when neither is so.
  struct Relation {
    bool same_call = false;
    std::size_t get = 0;
    std::size_t put = 0;
  };
  [[nodiscard]] static std::optional<Relation> relation(const CallPath& get, const CallPath& put);

 private:
  /// Its owner has called the probe itself, for one that exists.
  [[nodiscard]] bool counts_itself(const Event& event);

  FrameNamer& namer_;
  Owners& owners_;
  WaysOut& ways_;
  std::unordered_map<std::uint64_t, CallPath> known_;  // by site and stack
  std::unordered_map<std::string, std::uint32_t> numbers_{{"", 0}};
  std::vector<std::string> names_{""};
};

}  // namespace refhist
