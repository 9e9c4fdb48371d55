// Which function a call reaches: by address inside a module, and by name through the PLT or GOT into others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbols/module.h"

namespace refhist {

/// A place in the code of one module.
struct CodePlace {
  const Module* module = nullptr;
  Address address = 0;
};

class FunctionIndex {
 public:
  explicit FunctionIndex(const std::vector<std::shared_ptr<const Module>>& modules);

  /// Where the exported function lives; nothing when no module of the list has it.
  [[nodiscard]] std::optional<CodePlace> exported(std::string_view name) const;
  /// Name of a function that begins at the place; empty when none does.
  [[nodiscard]] std::string_view name_at(const CodePlace& place) const;
  /// Name of the function whose address the dynamic linker puts into the GOT slot; empty when unknown.
  [[nodiscard]] std::string_view import_at(const CodePlace& slot) const;

 private:
  struct PerModule {
    std::unordered_map<Address, std::string> functions;
    std::unordered_map<Address, std::string> imports;
  };

  std::unordered_map<const Module*, PerModule> modules_;
  std::unordered_map<std::string, CodePlace> exported_;
};

}  // namespace refhist
