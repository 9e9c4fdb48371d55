#include "symbols/recorded_module.h"

namespace refhist {

const std::vector<Segment>& RecordedModule::segments() const {
  static const std::vector<Segment> kNone;
  return kNone;
}

const std::vector<FunctionSymbol>& RecordedModule::functions() const {
  static const std::vector<FunctionSymbol> kNone;
  return kNone;
}

std::vector<SourceFrame> RecordedModule::source_frames(Address address) const {
  const auto found = frames_.find(address);
  return found == frames_.end() ? std::vector<SourceFrame>() : found->second;
}

}  // namespace refhist
