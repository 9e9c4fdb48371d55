#include "version.h"

#include <fmt/core.h>

#include <cstdlib>

namespace refhist {

namespace {
// "lldb version 19.1.7 …", or with a vendor's word in front: the first number is the major version.
int major_version(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::atoi(text.c_str() + digit);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
}  // namespace

std::string version_problem(const std::string& host_version) {
  if (major_version(host_version) == REFHIST_LLDB_VERSION) return {};
  return fmt::format(
      "refhist: this plugin is built for LLDB {0}, and this is {1}: use lldb-{0}, or build refhist with "
      "-DREFHIST_LLDB_VERSION={2}",
      REFHIST_LLDB_VERSION, host_version.empty() ? "an unknown LLDB" : first_line(host_version),
      major_version(host_version));
}

}  // namespace refhist
