// Family files: whatever stands in one, it is refused with an Error, or what is written of it reads as the
// same.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "families/family_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refhist;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string written;
  try {
    written = to_toml(parse_families(text, "file"));
  } catch (const Error&) {
    return 0;
  }
  if (to_toml(parse_families(written, "file")) != written) std::abort();
  return 0;
}
