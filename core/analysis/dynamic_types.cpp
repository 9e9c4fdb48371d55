#include "analysis/dynamic_types.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

constexpr std::size_t kLongestTypeName = 255;
constexpr Address kLastFundamental = 255U << 2U;  // GTypes up to here are no pointers
constexpr Address kTypeBits = 3;
// Of objects of GLib's two counted fundamental types: GParamSpec and GObject.
constexpr Address kParam = 19U << 2U;
constexpr Address kObject = 20U << 2U;

Address word_at(const ProgramView& program, Address address) {
  Address word = 0;
  return program.read_word(address, word) ? word : 0;
}

/// Letters, digits and what C++, GLib and Python use beside them; else it is no name.
std::string name_at(const ProgramView& program, Address address) {
  std::array<char, kLongestTypeName + 1> text{};
  const std::size_t size =
      address == 0 ? 0 : program.read_memory(address, text.data(), kLongestTypeName, false);
  const auto end = std::find(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\0');
  const bool name = std::all_of(text.begin(), end, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+';
  });
  return name && end != text.begin() + static_cast<std::ptrdiff_t>(size) ? std::string(text.begin(), end)
                                                                         : "";
}

std::vector<std::uint8_t> code_of(const Module& module, const FunctionSymbol& function) {
  constexpr std::size_t kMost = 512;
  std::vector<std::uint8_t> code(std::min<std::size_t>(function.size, kMost));
  if (!module.read_code(function.address, code.data(), code.size())) code.clear();
  return code;
}

/// Calls `use(instruction, memory operand)` for each load of so many bits.
template <class Use>
void each_load(const Module& module, const FunctionSymbol& function, unsigned bits, Use&& use) {
  const std::vector<std::uint8_t> code = code_of(module, function);
  const CodeRange range{function.address, code};
  const InstructionDecoder decoder;
  DecodedInstruction decoded;
  for (Address at = range.address; decoder.decode(range, at, decoded); at = decoded.next()) {
    const bool load = decoded.raw.mnemonic == ZYDIS_MNEMONIC_MOV &&
                      decoded.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      decoded.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                      decoded.operands[1].size == bits;
    if (load) use(decoded, decoded.operands[1].mem);
  }
}

}  // namespace

void DynamicTypes::forget() {
  names_.clear();
  gtype_names_.reset();
}

std::string DynamicTypes::of_virtual_table(const ProgramView& program, Address object, Address& begin) {
  constexpr std::string_view kVtable = "_ZTV";
  constexpr std::string_view kDemangled = "vtable for ";
  begin = object;
  const Address table = word_at(program, object);
  if (table == 0) return {};
  const auto [known, added] = names_.try_emplace(table);
  if (added) {
    const LoadedModule* module = modules_.at(table);
    const auto symbol =
        module == nullptr ? std::nullopt : module->module->data_symbol_at(table - module->bias);
    const std::string name = symbol && symbol->name.starts_with(kVtable) ? demangle(symbol->name) : "";
    if (name.starts_with(kDemangled)) known->second = name.substr(kDemangled.size());
  }
  if (known->second.empty()) return {};
  // In front of what the pointer points at: the type information, and how far the complete object's beginning
  // is from this part of it.
  Address to_top = 0;
  if (program.read_word(table - 2 * sizeof(Address), to_top)) begin = object + to_top;
  return known->second;
}

std::string DynamicTypes::of(const ProgramView& program, const Family& family, Address object) {
  std::string name;
  Address begin = object;
  switch (family.dynamic_type) {
    case DynamicType::gtype_instance:
      name = of_gtype(program, word_at(program, word_at(program, object)));
      break;
    case DynamicType::gtype:
      name = of_gtype(program, word_at(program, object));
      break;
    case DynamicType::python:
      name = of_python(program, word_at(program, object + sizeof(Address)));
      break;
    case DynamicType::virtual_table:
      name = of_virtual_table(program, object, begin);
      break;
  }
  const bool told = name == family.name || name == family.counter.type || begin != object;
  return told ? std::string() : name;
}

std::string DynamicTypes::of_gtype(const ProgramView& program, Address gtype) {
  if (gtype == kObject) return "GObject";
  if (gtype == kParam) return "GParam";
  if (gtype <= kLastFundamental || !gtype_names()) return {};
  const auto [known, added] = names_.try_emplace(gtype);
  if (!added) return known->second;
  const auto quark =
      static_cast<std::uint32_t>(word_at(program, (gtype & ~kTypeBits) + gtype_names_->value().quark_offset));
  const Address names = word_at(program, gtype_names_->value().quarks);
  if (quark != 0 && names != 0)
    known->second = name_at(program, word_at(program, names + quark * sizeof(Address)));
  return known->second;
}

std::string DynamicTypes::of_python(const ProgramView& program, Address type) {
  constexpr Address kName = 3 * sizeof(Address);  // behind a counter, its own type and a size
  if (type == 0) return {};
  const auto [known, added] = names_.try_emplace(type);
  if (added) known->second = name_at(program, word_at(program, type + kName));
  return known->second;
}

// g_type_qname loads a type's quark from its node, g_quark_to_string the table of names from a variable.
const std::optional<DynamicTypes::GTypeNames>& DynamicTypes::gtype_names() {
  if (gtype_names_) return *gtype_names_;
  GTypeNames names;
  for (const LoadedModule* loaded : modules_.loaded()) {
    const Module& module = *loaded->module;
    for (const FunctionSymbol& function : module.functions_named("g_type_qname")) {
      each_load(module, function, 32, [&](const DecodedInstruction&, const auto& memory) {
        const bool frame = memory.base == ZYDIS_REGISTER_RSP || memory.base == ZYDIS_REGISTER_RBP;
        if (memory.index == ZYDIS_REGISTER_NONE && memory.base != ZYDIS_REGISTER_RIP && !frame)
          names.quark_offset = static_cast<std::uint64_t>(memory.disp.value);
      });
    }
    for (const FunctionSymbol& function : module.functions_named("g_quark_to_string")) {
      each_load(module, function, 64, [&](const DecodedInstruction& load, const auto&) {
        if (const auto variable = load.rip_target()) names.quarks = *variable + loaded->bias;
      });
    }
  }
  const bool found = names.quark_offset != 0 && names.quarks != 0;
  gtype_names_ = found ? std::optional(names) : std::nullopt;
  return *gtype_names_;
}

}  // namespace refhist
