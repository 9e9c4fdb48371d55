// Damaged ELF files (of REFHIST_FUZZ_MODULE): symbols, debug information and call frames. The input says
// which bytes are changed.
#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "fuzz_input.h"
#include "symbols/memory_image.h"
#include "symbols/module.h"

namespace {

using namespace refhist;

const std::vector<std::uint8_t>& base() {
  static const std::vector<std::uint8_t> bytes = [] {
    const char* path = std::getenv("REFHIST_FUZZ_MODULE");
    if (path == nullptr) std::abort();
    return bytes_of_file(path);
  }();
  return bytes;
}

std::vector<std::uint8_t> damaged(FuzzInput& input) {
  std::vector<std::uint8_t> bytes = base();
  while (input.left()) {
    const std::uint8_t how = input.byte();
    // Headers and the tables at the end are small and matter most.
    const std::size_t at =
        how % 4 == 0   ? input.number(2) % std::min<std::size_t>(bytes.size(), 1024)
        : how % 4 == 1 ? bytes.size() - 1 - input.number(2) % std::min<std::size_t>(bytes.size(), 4096)
                       : input.number(3) % bytes.size();
    const int length = how % 8 < 4 ? 1 : 8;
    for (int i = 0; i < length && at + i < bytes.size(); ++i) bytes[at + i] = input.byte();
    if (how == 0xff) bytes.resize(std::max<std::size_t>(at, 64));
  }
  return bytes;
}

void ask(const Module& module) {
  constexpr std::size_t kFunctions = 40;
  std::size_t asked = 0;
  for (const FunctionSymbol& function : module.functions()) {
    if (++asked > kFunctions) break;
    (void)module.function_at(function.address + 1);
    (void)module.source_frames(function.address + 4);
    (void)module.line_rows({function.address, function.address + 64}, function.address);
    (void)module.signature(function);
    for (Address at = 0; at < 64; at += 7) (void)module.unwind_rule(function.address + at);
  }
  for (const std::string& name : module.inlined_functions()) (void)module.inlined_copies(name);
  for (const char* type : {"conn", "struct conn", "int"}) {
    (void)module.type_size(type);
    (void)module.member_at(type, 4);
    try {
      (void)module.member(type, "refs");
    } catch (const Error&) {
    }
  }
  (void)module.missing_debug_info();
  (void)module.interpreter();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const bool mapped = input.byte() % 4 == 0;
  std::vector<std::uint8_t> bytes = damaged(input);
  try {
    if (mapped) {
      const WholeReader read = [&](Address address, void* out, std::size_t wanted) {
        if (address > bytes.size() || wanted > bytes.size() - address) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address), wanted,
                    static_cast<std::uint8_t*>(out));
        return true;
      };
      auto image = read_memory_image(read, 0);
      if (!image) return 0;
      bytes = std::move(image->bytes);
    }
    ask(*Module::from_image("damaged", std::move(bytes)));
  } catch (const Error&) {
  }
  return 0;
}
