// What can be patched in the libraries of this machine, why the rest cannot, what their functions do with
// stack arguments, and how long it takes: LD_BIND_NOW=1 patching LIBRARY…
#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "../unit/patching_support.h"
#include "base/error.h"

using namespace refhist;
using namespace refhist_test;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

/// Without the addresses, so that alike reasons are counted together.
std::string kind_of(const std::string& reason) {
  return std::regex_replace(reason, std::regex("0x[0-9a-f]+"), "…");
}

void print_reasons(const std::map<std::string, unsigned>& reasons) {
  std::vector<std::pair<unsigned, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [count, reason] : sorted) fmt::print("    {:5}  {}\n", count, reason);
}

/// Branches that only look like some: those refused by a look at the bytes and not by decoding.
unsigned looks_like_branches(const PatchedLibrary& library) {
  const BranchTargets raw(library.code().code(), library.code().data(), {}, library.code().bias());
  unsigned more = 0;
  for (const auto& [address, function] : library.exported()) {
    const PatchRequest request = library.code().request(address, function.size);
    more += plan_patch(request, library.targets()).patch && !plan_patch(request, raw).patch ? 1 : 0;
  }
  return more;
}

void plan_all(const std::string& path) {
  const auto opened = Clock::now();
  const auto module = Module::open(path);
  (void)module->functions();
  const double symbols = milliseconds(opened);
  const auto start = Clock::now();
  const ModuleCode code(*module, 0);
  const double reading = milliseconds(start);
  const auto scanned = Clock::now();
  const BranchTargets targets(code.code(), code.data(), code.starts(), 0);
  const double scanning = milliseconds(scanned);

  const PatchedLibrary library(path);
  const auto functions = library.exported();
  std::map<std::string, unsigned> reasons;
  unsigned patched = 0;
  const auto planning = Clock::now();
  for (const auto& [address, function] : functions) {
    const PatchResult result = plan_patch(code.request(address, function.size), targets);
    std::string why_not = result.why_not;
    if (result.patch && relocate(*result.patch, code.code().back().end() + 0x100000, &why_not)) {
      ++patched;
    } else {
      ++reasons[kind_of(why_not)];
    }
  }
  const double planned = milliseconds(planning);
  fmt::print("{}: {} of {} exported functions ({:.1f}%)\n", path, patched, functions.size(),
             100.0 * patched / static_cast<double>(functions.size()));
  print_reasons(reasons);
  fmt::print("    {} looked like a branch into the patch, and were none\n", looks_like_branches(library));
  fmt::print(
      "    symbols {:.1f} ms, bytes {:.1f} ms, branch targets {:.1f} ms, plan and relocate {:.1f} ms: {:.1f} "
      "ms "
      "for 1,000 functions\n",
      symbols, reading, scanning, planned,
      reading + scanning + planned * 1000 / static_cast<double>(functions.size()));
}

/// The libraries as they are loaded into this process: slots of the PLT lead where the dynamic linker made
/// them lead.
class Loaded {
 public:
  explicit Loaded(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      void* handle = dlopen(path.c_str(), RTLD_NOW);
      link_map* map = nullptr;
      if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) fail("{}: {}", path, dlerror());
      libraries_.emplace_back(path, std::make_unique<PatchedLibrary>(path, map->l_addr));
    }
  }

  [[nodiscard]] const auto& libraries() const { return libraries_; }

  [[nodiscard]] StackArguments look(const ModuleCode& code, Address address, std::uint64_t size,
                                    unsigned depth = 0) const {
    CodeAround around;
    around.code_at = [&](Address at) { return code.function_at(at); };
    around.data_at = [&](Address at) { return code.data_at(at); };
    around.imported = [this, depth](Address slot) {
      const Address target = *reinterpret_cast<const Address*>(slot);
      for (const auto& [path, library] : libraries_) {
        const bool here = !library->code().function_at(target).bytes.empty();
        if (here && depth < 5) return look(library->code(), target, 0, depth + 1);
      }
      return StackArguments::unknown;
    };
    return reads_stack_arguments(code.request(address, size).function, around);
  }

 private:
  std::vector<std::pair<std::string, std::unique_ptr<PatchedLibrary>>> libraries_;
};

void look_at_stack_arguments(const std::vector<std::string>& paths, const std::regex& shown) {
  const Loaded loaded(paths);
  static const char* const kWords[] = {"no", "yes", "unknown"};
  for (const auto& [path, library] : loaded.libraries()) {
    unsigned counts[3] = {};
    std::string named;
    const auto start = Clock::now();
    for (const auto& [address, function] : library->exported()) {
      if (function.ifunc) continue;
      const auto verdict = static_cast<std::size_t>(loaded.look(library->code(), address, function.size));
      ++counts[verdict];
      if (std::regex_match(function.name, shown))
        named += fmt::format(" {}={}", function.name, kWords[verdict]);
    }
    const unsigned all = counts[0] + counts[1] + counts[2];
    fmt::print("{}: stack arguments: no {:.1f}%, yes {:.1f}%, unknown {:.1f}% of {} in {:.0f} ms\n", path,
               100.0 * counts[0] / all, 100.0 * counts[1] / all, 100.0 * counts[2] / all, all,
               milliseconds(start));
    if (!named.empty()) fmt::print("   {}\n", named);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> paths(argv + 1, argv + argc);
  for (const std::string& path : paths) plan_all(path);
  look_at_stack_arguments(paths, std::regex("(__libc_)?(malloc|calloc|realloc|free|memalign)|posix_memalign|"
                                            "aligned_alloc|_Zn[wa].*|json_object_(new|get|put).*|"
                                            "g_object_(new|ref|unref).*|g_malloc.*|g_slice_alloc|PyList_New|"
                                            "PyObject_Malloc|_PyObject_GC_New"));
}
