#include "symbols/recorded_module.h"

namespace refhist {

const Module& RecordedModule::code() const {
  std::call_once(looked_, [this] { file_ = open_unchanged(identity_.path, identity_.build_id); });
  return file_ ? *file_ : *this;
}

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
  if (found != frames_.end()) return found->second;
  const Module& file = code();
  return &file == this ? std::vector<SourceFrame>() : file.source_frames(address);
}

}  // namespace refhist
