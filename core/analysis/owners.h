// In whose hands references were taken and given back.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/frame_namer.h"
#include "analysis/statement_lines.h"
#include "history/event.h"

namespace refhist {

/// The event takes references, or gives some back, by a probe that was seen.
bool acquires(const Event& event);
bool gives_back(const Event& event);

struct Owner {
  NamedFrame frame;
  std::string place;  ///< its function, or what is known of it
};

class Owners {
 public:
  explicit Owners(FrameNamer& namer) : namer_(namer), statements_(namer.modules()) {}
  /// A function that returns the object which it has taken a reference to has taken it for its caller. Valid
  /// as long as this object.
  const Owner& of(const Event& event);
  /// The event's stack from its owner's frame on, as far as it is the program's own.
  std::vector<NamedFrame> outwards(const Event& event);
  /// Some object that was made in the one function was returned to the other one, as far as events were asked
  /// for.
  [[nodiscard]] bool hands_to(const std::string& maker, const std::string& receiver) const {
    return handed_.contains({maker, receiver});
  }

 private:
  /// Whoever gets the reference from a function that takes it only to return it.
  NamedFrame receiver(const Event& event, const NamedFrame& owner);
  void note_receivers(const Event& event, const Owner& owner);
  std::vector<NamedFrame> from(const Event& event, const NamedFrame& owner);

  FrameNamer& namer_;
  StatementLines statements_;
  std::unordered_map<std::uint64_t, Owner> known_;  // by site and stack
  std::set<std::pair<std::string, std::string>> handed_;
};

/// Numbers whose sum over an object's events, in whatever order, tells objects that were taken and put alike
/// from others.
class OwnerSums {
 public:
  explicit OwnerSums(Owners& owners) : owners_(owners) {}
  /// Of an event, by the index of its origin where that is known; 0 when it neither takes nor gives back.
  std::uint64_t of(const Event& event);
  std::uint64_t of(std::uint32_t origin, const Event& event);
  static std::uint64_t of(bool put, const std::string& place);

 private:
  Owners& owners_;
  std::vector<std::optional<std::uint64_t>> by_origin_;
};

}  // namespace refhist
