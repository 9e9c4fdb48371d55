// Files of a program as reports for other tools name them.
#pragma once

#include <string>

#include "analysis/frame_namer.h"

namespace refhist {

/// Which source files a report may read: none, those below the root, or whatever the program names.
enum class ReadSources { none, below_root, all };

class SourcePlaces {
 public:
  /// `root`: the folder that names are relative to; empty: none is.
  explicit SourcePlaces(std::string root, ReadSources read = ReadSources::none);
  /// The file that may be read for this name; empty: none.
  [[nodiscard]] std::string readable(const std::string& file) const;
  /// Relative to the root where it lies below that, else as it is.
  [[nodiscard]] std::string shown(const std::string& file) const;
  [[nodiscard]] bool is_below_root(const std::string& file) const;
  [[nodiscard]] const std::string& root() const { return root_; }
  /// "file:///…", or a relative reference.
  [[nodiscard]] static std::string uri(const std::string& path);

 private:
  ReadSources read_;
  std::string root_;  // with a slash at its end, or empty
};

}  // namespace refhist
