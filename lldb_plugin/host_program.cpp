#include "host_program.h"

#include <filesystem>
#include <string>

namespace refhist {

namespace {
/// Of its file, without a version behind it: Debian's is called lldb-dap-19.
bool is_named(const char* name) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).filename().string().starts_with(name);
}
}  // namespace

bool is_lldb_dap() {
  static const bool is = is_named("lldb-dap");
  return is;
}

bool is_lldb_vscode() {
  static const bool is = is_named("lldb-vscode");
  return is;
}

}  // namespace refhist
