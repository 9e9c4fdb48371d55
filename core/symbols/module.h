// One ELF file with what its symbol tables, debug information and call frame information tell.
// All addresses here are file addresses (no load bias). Immutable after open, apart from caches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "symbols/unwind_rule.h"

namespace refhist {

/// What GCC and clang make of a function beside the whole of it.
enum class CloneKind { whole, part, isra, constprop, cold, other };

/// From begin to end, addresses in the file.
struct FileRange {
  Address begin = 0;
  Address end = 0;
  [[nodiscard]] bool contains(Address at) const { return at >= begin && at < end; }
};

struct FunctionSymbol {
  std::string name;  ///< as in the symbol table: mangled, with .part.0, without @VERSION
  Address address = 0;
  std::uint64_t size = 0;
  bool exported = false;  ///< found in .dynsym
  bool ifunc = false;

  [[nodiscard]] FileRange range() const { return {address, address + size}; }
};

struct DataSymbol {
  std::string name;  ///< as in the symbol table, without @VERSION
  Address address = 0;
  std::uint64_t size = 0;
};

struct SourceFrame {
  std::string function;  ///< demangled; empty when unknown
  std::string file;      ///< full path; empty when unknown
  unsigned line = 0;
  bool inlined = false;
};

/// Of the line table: from here on, code is of this line.
struct LineRow {
  Address address = 0;
  unsigned line = 0;
  std::uint64_t file = 0;      ///< its number in the table
  bool statement = false;      ///< a statement begins here
  bool ends_prologue = false;  ///< as the compiler says; only some do
  bool ends_sequence = false;  ///< the code before ends here, and this says nothing of what is here
};

struct MemberPlace {
  std::uint64_t offset = 0;  ///< from the start of the object, bytes
  std::uint32_t size = 0;    ///< bytes
  bool is_signed = false;
  /// Of a bit-field: how many of the lowest bits of those bytes are others', and how many bits it has; 0: all
  /// are its own.
  std::uint8_t first_bit = 0;
  std::uint8_t bits = 0;
};

/// What a struct has at an offset.
struct MemberAt {
  std::string
      path;  ///< "peer.conn", "slots[].conn" of whichever element; empty when none is known to be there
  std::string pointee;  ///< Parameter::pointee, of the member's type
  /// The innermost struct with a name that it lies in, its path and its offset there.
  std::string inner_type = {};
  std::string inner_path = {};
  std::uint64_t inner_offset = 0;
  /// As Module::member knows it: an array as a whole.
  [[nodiscard]] std::string plain_path() const { return path.substr(0, path.find('[')); }
};

struct Parameter {
  std::string name;
  std::string type;     ///< as C spells it: "struct conn *"
  std::string pointee;  ///< struct/class/typedef name that it points at; empty when no pointer to one
};

/// What a variable has at an offset.
struct VariableAt {
  bool known = false;
  std::string name;          ///< as the source has it
  bool element = false;      ///< of an array, whichever
  std::string type;          ///< of the struct that is there; empty when it is none
  std::uint64_t offset = 0;  ///< in the struct
  std::string pointee;       ///< Parameter::pointee, of a pointer that is there
};

/// A variable of a function that points at something of a known type, while code runs.
struct LocalPointer {
  std::string name;
  std::string pointee;          ///< as Parameter::pointee
  std::optional<unsigned> reg;  ///< DWARF's number of what holds it; none: the stack does,
  std::int64_t behind = 0;      ///< it points so far behind what the register holds
  std::int64_t stack = 0;       ///< so far from where the stack pointer was when the function was entered
  bool at_entry = false;        ///< the register held it when the function was entered, and need not now
};

struct Signature {
  std::string function;  ///< linkage name
  std::string result_type;
  std::string result_pointee;
  bool returns_pointer = false;  ///< to whatever
  /// The caller gets no pointer from it: the result is nothing, a number or an enumerator, and no parameter
  /// points at a pointer.
  bool hands_nothing_out = false;
  std::vector<Parameter> parameters;
};

/// What a parameter's value is while code runs: what a register or a word of the frame holds, with a number
/// added, or an address in the file.
struct ParameterValue {
  FileRange range;              ///< of the code
  std::optional<unsigned> reg;  ///< DWARF's number; none: `offset` is an address in the file
  std::int64_t offset = 0;
  /// The word of the frame: so far from what `reg` holds; without one, from the canonical frame address.
  std::optional<std::int64_t> slot{};
};

struct InlinedCopy {
  Address address = 0;  ///< first address of the copy
  std::vector<FileRange> ranges;
  std::string into;  ///< the function it was inlined into (demangled)
  std::string file;  ///< of the call
  unsigned line = 0;
  /// Of its first parameters, by position; empty where nothing is known.
  std::vector<std::vector<ParameterValue>> parameters;
};

struct Segment {
  Address address = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  bool writable = false;
  bool executable = false;
};

class ElfFile;

class Module {
 public:
  /// Opens an ELF file and its separate debug file if there is one. Throws Error (not found, not
  /// ELF, other machine than x86-64).
  static std::shared_ptr<const Module> open(const std::string& path);
  /// The same for a file that goes by another name than it can be opened by (below /proc/PID/root).
  static std::shared_ptr<const Module> open(const std::string& file, const std::string& path);
  /// The same from memory, for the vdso and for modules whose file is gone. `path` is only a name.
  static std::shared_ptr<const Module> from_image(const std::string& path, std::vector<std::uint8_t> image);
  /// The file of that name, if it is still the one with this build id; else null.
  static std::shared_ptr<const Module> open_unchanged(const std::string& path, const std::string& build_id);
  virtual ~Module() = default;

  [[nodiscard]] virtual const std::string& path() const = 0;
  [[nodiscard]] virtual const std::string& build_id() const = 0;  ///< hex; empty when none
  [[nodiscard]] virtual Address entry_point() const = 0;
  [[nodiscard]] virtual bool position_independent() const = 0;  ///< ET_DYN
  [[nodiscard]] virtual bool has_debug_info() const = 0;
  /// Which files with parts of the debug information were not found: "/src/a.dwo and 2 other .dwo files were
  /// not found"; empty when all are there, or none is known of. Opens them all.
  [[nodiscard]] virtual std::string missing_debug_info() const = 0;
  [[nodiscard]] virtual std::string interpreter() const = 0;  ///< PT_INTERP; empty when static
  [[nodiscard]] virtual const std::vector<Segment>& segments() const = 0;

  /// Function symbols of .symtab, .dynsym, the separate debug file and .gnu_debugdata; one entry for
  /// each (name, address), sorted by name.
  [[nodiscard]] virtual const std::vector<FunctionSymbol>& functions() const = 0;
  [[nodiscard]] virtual std::vector<FunctionSymbol> functions_named(std::string_view linkage_name) const = 0;
  /// The function symbol that covers the address.
  [[nodiscard]] virtual std::optional<FunctionSymbol> function_at(Address address) const = 0;
  /// An object (data) symbol's address, as for `_r_debug`.
  [[nodiscard]] virtual std::optional<Address> data_symbol(std::string_view name) const = 0;
  /// The object (data) symbol that covers the address.
  [[nodiscard]] virtual std::optional<DataSymbol> data_symbol_at(Address address) const = 0;

  /// Source frames at an address, innermost (most inlined) first; never empty when a symbol covers it.
  [[nodiscard]] virtual std::vector<SourceFrame> source_frames(Address address) const = 0;

  /// Rows of the line table in the range, ascending, of the unit that covers `of`. Empty when nothing is
  /// known.
  [[nodiscard]] virtual std::vector<LineRow> line_rows(const FileRange& /*range*/, Address /*of*/) const {
    return {};
  }

  /// All inlined copies of the function with this linkage or plain name.
  [[nodiscard]] virtual std::vector<InlinedCopy> inlined_copies(std::string_view name) const = 0;
  /// Linkage names of the functions that were inlined somewhere, or may have been; sorted.
  [[nodiscard]] virtual std::vector<std::string> inlined_functions() const = 0;
  /// Those that have the text in their name.
  [[nodiscard]] virtual const std::vector<std::string>& inlined_functions_with(
      std::string_view text) const = 0;

  /// The signature by debug information; nothing when there is none.
  [[nodiscard]] virtual std::optional<Signature> signature(const FunctionSymbol& function) const = 0;

  /// The same of a function that may have no code of its own: what its inlined copies were made from.
  [[nodiscard]] virtual std::optional<Signature> inlined_signature(const std::string& name) const = 0;

  /// Place of `path` ("refs.counter") in the named struct, class or typedef. Base classes, anonymous
  /// and nested members included. Nothing when the type is unknown here; throws Error with the nearest
  /// member when the type is known and the path is wrong.
  [[nodiscard]] virtual std::optional<MemberPlace> member(std::string_view type,
                                                          std::string_view path) const = 0;
  /// The innermost member of the type that covers the offset.
  [[nodiscard]] virtual MemberAt member_at(std::string_view type, std::uint64_t offset) const = 0;
  /// The path of the bit-field that begins at that bit, counted from the offset; empty when none is known to.
  [[nodiscard]] virtual std::string bit_field_at(std::string_view /*type*/, std::uint64_t /*offset*/,
                                                 unsigned /*bit*/) const {
    return {};
  }
  /// What a global or static variable that the unit with this code knows has at the offset.
  [[nodiscard]] virtual VariableAt variable_at(Address /*code*/, const DataSymbol& /*variable*/,
                                               std::uint64_t /*offset*/) const {
    return {};
  }
  /// Held at the instruction there, before it runs; parameters among them.
  [[nodiscard]] virtual std::vector<LocalPointer> pointers_at(Address /*code*/) const { return {}; }
  /// sizeof(type) by debug information.
  [[nodiscard]] virtual std::optional<std::uint64_t> type_size(std::string_view type) const = 0;
  /// By debug information, the struct or class is nothing but a pointer, as those of smart pointers are.
  [[nodiscard]] virtual bool wraps_pointer(std::string_view /*type*/) const { return false; }
  /// By debug information, the struct or class has a member or a base that is a struct or class of that name,
  /// without "struct", or one that has it.
  [[nodiscard]] virtual bool embeds(std::string_view /*type*/, std::string_view /*member*/) const {
    return false;
  }

  /// Call frame rule for the address, from .eh_frame or .debug_frame; null when none covers it. Cached.
  [[nodiscard]] virtual const UnwindRule* unwind_rule(Address address) const = 0;

  /// The file itself, then its separate debug file if there is one.
  [[nodiscard]] virtual std::vector<const ElfFile*> files() const = 0;

  /// What knows the code, its symbols and its debug information: the module itself; of one that a history
  /// file tells of, the file that it was recorded of, if that is still there, unchanged.
  [[nodiscard]] virtual const Module& code() const { return *this; }

  /// Code bytes from the file (never from memory, where breakpoints are inserted).
  [[nodiscard]] virtual bool read_code(Address address, void* out, std::size_t size) const = 0;
};

/// "ns::f<int>(char)" of a mangled name; the name itself when it is not mangled.
std::string demangle(const std::string& name);
/// Those whose symbol begins so: of a C name, the function and its clones.
std::span<const FunctionSymbol> functions_from(const Module& module, std::string_view begin);
/// Kind of the clone that the name tells ("f.part.0" is part).
CloneKind clone_kind(std::string_view name);
/// The name without clone suffixes ("f.part.0" -> "f").
std::string_view clone_base(std::string_view name);

}  // namespace refhist
