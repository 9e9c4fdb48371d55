// What a history file knows of a module: its name, and the functions and lines of the places that its stacks
// pass through. The file itself may be gone, or another one by now: see code().
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/module.h"

namespace refhist {

class RecordedModule final : public Module {
 public:
  struct Identity {
    std::string path;
    std::string build_id;     ///< hex; empty when none
    std::string interpreter;  ///< empty for a library
    bool position_independent = false;
  };
  explicit RecordedModule(Identity identity) : identity_(std::move(identity)) {}

  /// One frame more at the address, outwards.
  void add_frame(Address address, SourceFrame frame) { frames_[address].push_back(std::move(frame)); }

  /// How many frames were added at the address.
  [[nodiscard]] std::size_t names_at(Address address) const {
    const auto found = frames_.find(address);
    return found == frames_.end() ? 0 : found->second.size();
  }

  const std::string& path() const override { return identity_.path; }
  const std::string& build_id() const override { return identity_.build_id; }
  Address entry_point() const override { return 0; }
  bool position_independent() const override { return identity_.position_independent; }
  bool has_debug_info() const override { return false; }
  std::string missing_debug_info() const override { return {}; }
  std::string interpreter() const override { return identity_.interpreter; }
  const std::vector<Segment>& segments() const override;
  const std::vector<FunctionSymbol>& functions() const override;
  std::vector<FunctionSymbol> functions_named(std::string_view) const override { return {}; }
  std::optional<FunctionSymbol> function_at(Address) const override { return {}; }
  std::optional<Address> data_symbol(std::string_view) const override { return {}; }
  std::optional<DataSymbol> data_symbol_at(Address) const override { return {}; }
  std::vector<SourceFrame> source_frames(Address address) const override;
  std::vector<InlinedCopy> inlined_copies(std::string_view) const override { return {}; }
  std::vector<std::string> inlined_functions() const override { return {}; }
  const std::vector<std::string>& inlined_functions_with(std::string_view) const override {
    static const std::vector<std::string> kNone;
    return kNone;
  }
  std::optional<Signature> signature(const FunctionSymbol&) const override { return {}; }
  std::optional<Signature> inlined_signature(const std::string&) const override { return {}; }
  std::optional<MemberPlace> member(std::string_view, std::string_view) const override { return {}; }
  MemberAt member_at(std::string_view, std::uint64_t) const override { return {}; }
  std::optional<std::uint64_t> type_size(std::string_view) const override { return {}; }
  const UnwindRule* unwind_rule(Address) const override { return nullptr; }
  std::vector<const ElfFile*> files() const override { return {}; }
  bool read_code(Address, void*, std::size_t) const override { return false; }
  const Module& code() const override;

 private:
  Identity identity_;
  mutable std::once_flag looked_;
  mutable std::shared_ptr<const Module> file_;  // null: not there, or another one by now
  std::unordered_map<Address, std::vector<SourceFrame>> frames_;
};

}  // namespace refhist
