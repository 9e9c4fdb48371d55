#include "reports/source_places.h"

#include <fmt/core.h>

#include <cctype>
#include <filesystem>
#include <string_view>

namespace refhist {

SourcePlaces::SourcePlaces(std::string root, ReadSources read) : read_(read), root_(std::move(root)) {
  if (!root_.empty() && !root_.ends_with('/')) root_ += '/';
}

// Where links and ".." lead to counts, not how the name begins.
std::string SourcePlaces::readable(const std::string& file) const {
  if (read_ == ReadSources::none || file.empty()) return {};
  if (read_ == ReadSources::all) return file;
  std::error_code error;
  const std::string place = std::filesystem::canonical(file, error).string();
  std::string root = std::filesystem::canonical(root_, error).string();
  if (error || place.empty()) return {};
  if (!root.ends_with('/')) root += '/';
  return place.starts_with(root) ? place : std::string();
}

bool SourcePlaces::is_below_root(const std::string& file) const {
  return !root_.empty() && file.starts_with(root_);
}

std::string SourcePlaces::shown(const std::string& file) const {
  return is_below_root(file) ? file.substr(root_.size()) : file;
}

std::string SourcePlaces::uri(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/+";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", byte);
    }
  }
  return uri;
}

}  // namespace refhist
