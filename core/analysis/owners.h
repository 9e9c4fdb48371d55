// In whose hands references were taken and given back.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "analysis/frame_namer.h"
#include "history/event.h"

namespace refhist {

/// The event takes references, or gives some back, by a probe that was seen.
bool acquires(const Event& event);
bool gives_back(const Event& event);

/// Numbers for owners whose sums tell objects that were taken and put alike from others.
inline std::uint64_t owner_sum(std::uint64_t number) {
  std::uint64_t x = (number + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

struct Owner {
  NamedFrame frame;
  std::string place;  ///< its function, or what is known of it
};

class Owners {
 public:
  explicit Owners(FrameNamer& namer) : namer_(namer) {}
  /// Valid as long as this object.
  const Owner& of(const Event& event);

 private:
  FrameNamer& namer_;
  std::unordered_map<std::uint64_t, Owner> known_;  // by site and stack
};

}  // namespace refhist
