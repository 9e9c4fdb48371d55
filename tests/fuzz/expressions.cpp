// Expressions of call frame information: memory holds any word, registers too.
#include "fuzz_input.h"
#include "symbols/dwarf_expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refhist;
  FuzzInput input(data, size);
  Registers registers;
  for (std::size_t i = 0; i < kRegisterCount; ++i) registers[i] = input.number(2) << (input.byte() % 48);
  const bool with_cfa = input.byte() % 2 != 0;
  const std::string_view expression = input.text();
  const WordReader read = [](Address address, std::size_t bytes) -> std::optional<std::uint64_t> {
    if (address % 7 == 0) return std::nullopt;
    return address * 0x9e3779b97f4a7c15 >> (64 - 8 * bytes);
  };
  (void)evaluate_expression({reinterpret_cast<const std::uint8_t*>(expression.data()), expression.size()},
                            registers, with_cfa ? std::optional<Address>(registers[kRsp]) : std::nullopt,
                            read);
  return 0;
}
