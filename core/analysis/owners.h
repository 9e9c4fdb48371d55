// In whose hands references were taken and given back.
#pragma once

#include <string>
#include <unordered_map>

#include "analysis/frame_namer.h"
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
  explicit Owners(FrameNamer& namer) : namer_(namer) {}
  /// Valid as long as this object.
  const Owner& of(const Event& event);

 private:
  FrameNamer& namer_;
  std::unordered_map<std::uint64_t, Owner> known_;  // by site and stack
};

}  // namespace refhist
