// A folder for files that nobody needs once what made them has ended. Those of sessions that were killed are
// removed by the next one.
#pragma once

#include <string>

#include "base/open_file.h"

namespace refhist {

class ScratchFolder {
 public:
  /// Throws Error when there is no place for it.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  OpenFile lock_;  ///< of the folder, as long as its session lives
};

}  // namespace refhist
