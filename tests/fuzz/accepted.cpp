// Baselines (an even first byte) and suppressions.
#include <fmt/core.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz_input.h"
#include "reports/baseline.h"
#include "reports/suppressions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refhist;
  static const std::string path = fmt::format("/dev/shm/refhist-fuzz-accepted-{}", getpid());
  FuzzInput input(data, size);
  const bool baseline = input.byte() % 2 == 0;
  std::ofstream(path, std::ios::binary) << input.text();
  try {
    if (baseline) {
      (void)Baseline::read(path).gone({});
    } else {
      (void)Suppressions::read(path).unused();
    }
  } catch (const Error&) {
  }
  unlink(path.c_str());
  return 0;
}
