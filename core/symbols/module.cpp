#include "symbols/module.h"

#include <unordered_map>

#include "base/error.h"
#include "symbols/call_frames.h"
#include "symbols/debug_file.h"
#include "symbols/debug_info.h"
#include "symbols/elf_file.h"
#include "symbols/symbol_table.h"
#include "symbols/type_members.h"

namespace refhist {

namespace {

class ElfModule final : public Module {
 public:
  ElfModule(std::unique_ptr<ElfFile> file, std::string path)
      : file_(std::move(file)), debug_file_(find_debug_file(*file_)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  const std::string& build_id() const override { return file_->build_id(); }
  Address entry_point() const override { return file_->header().e_entry; }
  bool position_independent() const override { return file_->header().e_type == ET_DYN; }
  bool has_debug_info() const override { return dwarf_file() != nullptr; }
  std::string missing_debug_info() const override {
    return debug() == nullptr ? std::string() : debug()->missing();
  }
  std::string interpreter() const override { return file_->interpreter(); }
  const std::vector<Segment>& segments() const override { return file_->segments(); }
  bool read_code(Address address, void* out, std::size_t size) const override {
    return file_->read(address, out, size);
  }

  const std::vector<FunctionSymbol>& functions() const override { return symbols().functions(); }
  std::vector<FunctionSymbol> functions_named(std::string_view linkage_name) const override {
    return symbols().named(linkage_name);
  }
  std::optional<FunctionSymbol> function_at(Address address) const override {
    const FunctionSymbol* found = symbols().at(address);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  std::optional<Address> data_symbol(std::string_view name) const override { return symbols().data(name); }
  std::optional<DataSymbol> data_symbol_at(Address address) const override {
    const DataSymbol* found = symbols().data_at(address);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  std::vector<SourceFrame> source_frames(Address address) const override;
  std::vector<LineRow> line_rows(const FileRange& range, Address of) const override {
    return debug() == nullptr ? std::vector<LineRow>() : debug()->line_rows(range, of);
  }
  std::vector<InlinedCopy> inlined_copies(std::string_view name) const override {
    return debug() == nullptr ? std::vector<InlinedCopy>() : debug()->inlined_copies(name);
  }
  std::vector<std::string> inlined_functions() const override {
    return debug() == nullptr ? std::vector<std::string>() : debug()->names().inlined_names();
  }
  const std::vector<std::string>& inlined_functions_with(std::string_view text) const override {
    static const std::vector<std::string> kNone;
    return debug() == nullptr ? kNone : debug()->names().inlined_names_with(text);
  }
  std::optional<Signature> signature(const FunctionSymbol& function) const override {
    return debug() == nullptr ? std::nullopt : debug()->signature(function.name, function.address);
  }
  std::optional<Signature> inlined_signature(const std::string& name) const override {
    return debug() == nullptr ? std::nullopt : debug()->inlined_signature(name);
  }
  std::optional<MemberPlace> member(std::string_view type, std::string_view path) const override {
    return debug() == nullptr ? std::nullopt : TypeMembers(debug()->names()).member(type, path);
  }
  std::string bit_field_at(std::string_view type, std::uint64_t offset, unsigned bit) const override {
    return debug() == nullptr ? std::string() : TypeMembers(debug()->names()).bit_field_at(type, offset, bit);
  }
  MemberAt member_at(std::string_view type, std::uint64_t offset) const override {
    return debug() == nullptr ? MemberAt() : TypeMembers(debug()->names()).member_at(type, offset);
  }
  VariableAt variable_at(Address code, const DataSymbol& variable, std::uint64_t offset) const override {
    return debug() == nullptr ? VariableAt() : debug()->variable_at(code, variable, offset);
  }
  std::vector<LocalPointer> pointers_at(Address code) const override {
    return debug() == nullptr ? std::vector<LocalPointer>() : debug()->pointers_at(code);
  }
  std::optional<std::uint64_t> type_size(std::string_view type) const override {
    return debug() == nullptr ? std::nullopt : TypeMembers(debug()->names()).size(type);
  }
  bool wraps_pointer(std::string_view type) const override {
    return debug() != nullptr && TypeMembers(debug()->names()).wraps_pointer(type);
  }
  bool embeds(std::string_view type, std::string_view member) const override {
    return debug() != nullptr && TypeMembers(debug()->names()).embeds(type, member);
  }
  const UnwindRule* unwind_rule(Address address) const override { return call_frames().rule(address); }
  std::vector<const ElfFile*> files() const override {
    if (debug_file_ == nullptr) return {file_.get()};
    return {file_.get(), debug_file_.get()};
  }

 private:
  /// The file that holds the DWARF; nullptr when none does.
  [[nodiscard]] const ElfFile* dwarf_file() const {
    if (file_->has_dwarf()) return file_.get();
    return debug_file_ != nullptr && debug_file_->has_dwarf() ? debug_file_.get() : nullptr;
  }
  [[nodiscard]] DebugInfo* debug() const;
  [[nodiscard]] const SymbolTable& symbols() const;
  [[nodiscard]] CallFrames& call_frames() const;
  [[nodiscard]] Dwarf_CFI* debug_frame() const;

  std::unique_ptr<ElfFile> file_;
  std::unique_ptr<ElfFile> debug_file_;
  std::string path_;
  mutable bool debug_opened_ = false;
  mutable std::unique_ptr<DebugInfo> debug_;
  mutable std::unique_ptr<DebugInfo> frame_info_;  // for a .debug_frame in a file without .debug_info
  mutable std::unique_ptr<SymbolTable> symbols_;
  mutable std::unique_ptr<CallFrames> call_frames_;
  mutable std::unordered_map<Address, std::vector<SourceFrame>> frames_;
};

DebugInfo* ElfModule::debug() const {
  if (!debug_opened_) {
    debug_opened_ = true;
    if (const ElfFile* file = dwarf_file()) debug_ = DebugInfo::open(*file, path_);
  }
  return debug_.get();
}

const SymbolTable& ElfModule::symbols() const {
  if (symbols_ == nullptr) symbols_ = std::make_unique<SymbolTable>(*file_, debug_file_.get());
  return *symbols_;
}

CallFrames& ElfModule::call_frames() const {
  if (call_frames_ == nullptr) call_frames_ = std::make_unique<CallFrames>(*file_, debug_frame());
  return *call_frames_;
}

Dwarf_CFI* ElfModule::debug_frame() const {
  for (const ElfFile* file : {file_.get(), debug_file_.get()}) {
    if (file == nullptr || !file->has_section(".debug_frame")) continue;
    if (file == dwarf_file()) return debug() == nullptr ? nullptr : debug()->call_frames();
    frame_info_ = DebugInfo::open(*file, path_);
    return frame_info_ == nullptr ? nullptr : frame_info_->call_frames();
  }
  return nullptr;
}

std::vector<SourceFrame> ElfModule::source_frames(Address address) const {
  const auto [cached, is_new] = frames_.try_emplace(address);
  std::vector<SourceFrame>& frames = cached->second;
  if (!is_new) return frames;
  if (debug() != nullptr) frames = debug()->source_frames(address);
  if (frames.empty() || frames.back().function.empty()) {
    const FunctionSymbol* symbol = symbols().at(address);
    if (symbol != nullptr && frames.empty()) frames.emplace_back();
    if (symbol != nullptr) frames.back().function = demangle(symbol->name);
  }
  return frames;
}

}  // namespace

std::shared_ptr<const Module> Module::open(const std::string& path) { return open(path, path); }

std::shared_ptr<const Module> Module::open_unchanged(const std::string& path, const std::string& build_id) {
  if (build_id.empty()) return nullptr;
  try {
    auto module = open(path);
    return module->build_id() == build_id ? module : nullptr;
  } catch (const Error&) {  // gone, or nothing that can be read any more
    return nullptr;
  }
}

std::shared_ptr<const Module> Module::open(const std::string& file, const std::string& path) {
  return std::make_shared<ElfModule>(ElfFile::open(file), path);
}

std::shared_ptr<const Module> Module::from_image(const std::string& path, std::vector<std::uint8_t> image) {
  return std::make_shared<ElfModule>(ElfFile::from_image(path, std::move(image)), path);
}

std::span<const FunctionSymbol> functions_from(const Module& module, std::string_view begin) {
  const std::vector<FunctionSymbol>& functions = module.functions();
  const auto before = [](const FunctionSymbol& function, std::string_view text) {
    return function.name < text;
  };
  const auto first = std::lower_bound(functions.begin(), functions.end(), begin, before);
  auto last = first;
  while (last != functions.end() && last->name.starts_with(begin)) ++last;
  return {first, last};
}

}  // namespace refhist
