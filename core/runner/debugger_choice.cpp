#include "runner/debugger_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/folder_entries.h"
#include "base/text.h"

namespace refhist {

namespace {

/// A debugger that cannot be used has a reason, and no path.
struct DebuggerFound {
  DebuggerChoice choice;
  std::string why_not;
};

int first_number(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::atoi(text.c_str() + digit);
}

/// The major version of this LLDB: what its name says (lldb-19), else what it answers itself.
int lldb_version(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  if (name.starts_with("lldb-")) return first_number(name);
  const std::string ask = "'" + replace_all(path, "'", "'\\''") + "' --version 2>/dev/null </dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(popen(ask.c_str(), "r"), pclose);
  std::string line(200, '\0');
  if (answer == nullptr || std::fgets(line.data(), static_cast<int>(line.size()), answer.get()) == nullptr)
    return 0;
  return first_number(line);
}

std::string versions_of(const std::vector<LldbPlugin>& plugins) {
  std::vector<std::string> versions;
  for (const LldbPlugin& plugin : plugins) versions.push_back(std::to_string(plugin.version));
  return join(versions, ", ");
}

DebuggerFound gdb_candidate(const OwnFiles& files) {
  if (files.gdb_extension.empty())
    return {{}, "refhist's extension for GDB is not installed (Debian: the package refhist-gdb)"};
  const char* named = std::getenv("REFHIST_GDB");
  const std::string path = find_program(named == nullptr ? "gdb" : named);
  if (path.empty())
    return {{},
            fmt::format("{} was not found: install gdb, or name one in REFHIST_GDB",
                        named == nullptr ? "gdb" : "the gdb named in REFHIST_GDB")};
  return {{"gdb", path, files.gdb_extension, 0}, {}};
}

/// The plugin for this LLDB; null when there is none. One that does not tell its version is given the newest.
const LldbPlugin* plugin_for(int version, const std::vector<LldbPlugin>& plugins) {
  if (version == 0) return &plugins.front();
  const auto found = std::find_if(plugins.begin(), plugins.end(),
                                  [&](const LldbPlugin& plugin) { return plugin.version == version; });
  return found == plugins.end() ? nullptr : &*found;
}

DebuggerFound lldb_candidate(const OwnFiles& files) {
  const std::vector<LldbPlugin>& plugins = files.lldb_plugins;
  if (plugins.empty())
    return {{}, "refhist's plugin for LLDB is not installed (Debian: a package refhist-lldb-NN)"};
  std::vector<std::string> names;
  for (const LldbPlugin& plugin : plugins) names.push_back(fmt::format("lldb-{}", plugin.version));
  names.emplace_back("lldb");
  if (const char* named = std::getenv("REFHIST_LLDB")) names = {named};
  std::string other;  // an LLDB that is there, and for which there is no plugin
  for (const std::string& name : names) {
    const std::string path = find_program(name);
    if (path.empty()) continue;
    const int version = lldb_version(path);
    const LldbPlugin* plugin = plugin_for(version, plugins);
    if (plugin != nullptr) return {{"lldb", path, plugin->path, plugin->version}, {}};
    other = fmt::format("{} is LLDB {}, but refhist's plugin is installed for LLDB {} only", path, version,
                        versions_of(plugins));
  }
  if (!other.empty()) return {{}, other};
  return {{},
          fmt::format("lldb was not found: install lldb-{}, or name one in REFHIST_LLDB",
                      plugins.front().version)};
}

}  // namespace

DebuggerChoice choose_debugger(const std::string& wanted, const OwnFiles& files) {
  std::vector<std::string> why_not;
  for (const char* name : {"gdb", "lldb"}) {
    if (!wanted.empty() && wanted != name) continue;
    DebuggerFound candidate = std::string_view(name) == "gdb" ? gdb_candidate(files) : lldb_candidate(files);
    if (candidate.why_not.empty()) return candidate.choice;
    why_not.push_back(std::move(candidate.why_not));
  }
  fail("{}", join(why_not, "; "));
}

std::string python_modules_of(const std::string& lldb) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path libraries = fs::canonical(lldb, error).parent_path().parent_path() / "lib";
  for (const fs::path& entry : entries_of(libraries)) {
    if (!entry.filename().string().starts_with("python3")) continue;
    for (const char* packages : {"dist-packages", "site-packages"})
      if (fs::exists(entry / packages / "lldb/__init__.py", error)) return (entry / packages).string();
  }
  return {};
}

}  // namespace refhist
