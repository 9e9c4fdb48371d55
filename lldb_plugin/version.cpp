#include "version.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/text.h"
#include "plugin_folder.h"

namespace refhist {

namespace {
// "lldb version 19.1.7 …", or with a vendor's word in front: the first number is the major version.
int major_version(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::atoi(text.c_str() + digit);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// What to do where there are packages, one for each LLDB of the suite.
std::string package_for(int version) {
  const std::vector<std::string> packaged = split(REFHIST_LLDB_PACKAGES, ' ');
  for (const std::string& one : packaged)
    if (one == std::to_string(version)) return fmt::format("install the package refhist-lldb-{}", version);
  return fmt::format("refhist's packages are for LLDB {}", join(packaged, ", "));
}

std::string what_to_do(int version) {
  // Installed plugins stand in lldb-14/, lldb-19/ … beside each other.
  const auto right = plugin_folder().parent_path() / fmt::format("lldb-{}", version) / "librefhist_lldb.so";
  std::error_code error;
  if (std::filesystem::exists(right, error)) return "plugin load " + right.string();
  if (!std::string_view(REFHIST_LLDB_PACKAGES).empty()) return package_for(version);
  return fmt::format("use lldb-{}, or build refhist with -DREFHIST_LLDB_VERSION={}", REFHIST_LLDB_VERSION,
                     version);
}
}  // namespace

std::string version_problem(const std::string& host_version) {
  const int version = major_version(host_version);
  if (version == REFHIST_LLDB_VERSION) return {};
  return fmt::format("refhist: this plugin is built for LLDB {}, and this is {}: {}", REFHIST_LLDB_VERSION,
                     host_version.empty() ? "an unknown LLDB" : first_line(host_version),
                     what_to_do(version));
}

}  // namespace refhist
