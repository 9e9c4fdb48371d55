#include "runner/own_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/folder_entries.h"
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

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// Plugins in folders that are named for their LLDB: lldb-19.
void add_plugins(const fs::path& folder, std::vector<LldbPlugin>& plugins) {
  constexpr std::string_view kPrefix = "lldb-";
  for (const fs::path& entry : entries_of(folder)) {
    const std::string name = entry.filename();
    if (!name.starts_with(kPrefix)) continue;
    const std::string path = first_that_exists(entry, {"librefhist_lldb.so"});
    if (!path.empty()) plugins.push_back({std::atoi(name.c_str() + kPrefix.size()), path});
  }
}

/// Those of the build folder, or installed ones.
std::vector<LldbPlugin> find_plugins(const fs::path& own) {
  std::vector<LldbPlugin> plugins;
  const std::string built = first_that_exists(own, {"../lldb_plugin/librefhist_lldb.so"});
  if (!built.empty()) plugins.push_back({REFHIST_BUILT_FOR_LLDB, built});
  add_plugins((own / "../lldb_plugin").lexically_normal(), plugins);
  add_plugins((own / "../" REFHIST_LIBDIR "/refhist").lexically_normal(), plugins);
  std::sort(plugins.begin(), plugins.end(),
            [](const LldbPlugin& a, const LldbPlugin& b) { return a.version > b.version; });
  return plugins;
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

OwnFiles find_own_files() {
  const fs::path folder = own_folder();
  OwnFiles files;
  files.gdb_extension = first_that_exists(folder, {"../gdb/refhist.py", "../share/refhist/refhist.py"});
  files.lldb_plugins = find_plugins(folder);
  files.shell =
      first_that_exists(folder, {"../core/refhist-exec", "../" REFHIST_LIBDIR "/refhist/refhist-exec"});
  if (files.shell.empty())
    fail("refhist-exec, a part of refhist-run in {}, is missing: install refhist again", folder.string());
  return files;
}

std::string find_families() {
  std::error_code error;
  for (const char* place : {"../gdb/families", "../share/refhist/families"}) {
    const fs::path path = (own_folder() / place).lexically_normal();
    if (fs::is_directory(path, error)) return path.string();
  }
  return {};
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
