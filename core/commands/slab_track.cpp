#include "commands/slab_track.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel_file.h"
#include "kernel/slab_caches.h"

namespace refhist {

namespace {
constexpr std::string_view kPrefix = "slab:";

const LoadedModule& kernel_module(const SessionState& state) {
  for (const LoadedModule* loaded : state.modules.loaded()) {
    if (is_kernel(*loaded->module)) return *loaded;
  }
  fail("slab caches are a kernel's: connect to one first, with its vmlinux as the file");
}
}  // namespace

bool names_slab_caches(const std::string& word) { return word.starts_with(kPrefix); }

std::vector<Family> slab_families(CommandContext& context, const std::string& word) {
  const LoadedModule& kernel = kernel_module(context.state);
  const std::vector<SlabCache> caches = read_slab_caches(context.port, *kernel.module, kernel.bias);
  std::vector<Family> families;
  for (const std::string& name : split(word.substr(kPrefix.size()), ',')) {
    const auto cache = std::find_if(caches.begin(), caches.end(),
                                    [&](const SlabCache& known) { return known.name == name; });
    if (cache == caches.end()) {
      std::vector<std::string> names;
      for (const SlabCache& known : caches) names.push_back(known.name);
      fail(
          "there is no slab cache {}{}; caches of one size may be merged under one name (boot with "
          "slab_nomerge)",
          name, suggestion(name, names));
    }
    families.push_back(slab_family(*cache));
  }
  return families;
}

}  // namespace refhist
