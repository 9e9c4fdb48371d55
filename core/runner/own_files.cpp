#include "runner/own_files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace refhist {

namespace {

namespace fs = std::filesystem;

std::string first_that_exists(const fs::path& folder, const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    std::error_code error;
    const fs::path path = (folder / candidate).lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return {};
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

OwnFiles find_own_files() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  OwnFiles files;
  files.gdb_extension = first_that_exists(folder, {"../gdb/refhist.py", "../share/refhist/refhist.py"});
  files.lldb_plugin = first_that_exists(
      folder, {"../lldb_plugin/librefhist_lldb.so", "../" REFHIST_LIBDIR "/refhist/librefhist_lldb.so"});
  files.shell = first_that_exists(folder, {"refhist-exec", "../" REFHIST_LIBDIR "/refhist/refhist-exec"});
  if (files.shell.empty()) fail("refhist-exec is missing beside {}: install refhist again", folder.string());
  return files;
}

std::string runs_as(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return program;
  const std::string_view rest = trim(std::string_view(line).substr(2));
  return std::string(rest.substr(0, rest.find_first_of(" \t")));
}

std::string find_program(const std::string& name) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return is_program(name) ? fs::absolute(name, error).string() : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_program(candidate)) return fs::absolute(candidate, error).string();
  }
  return {};
}

}  // namespace refhist
