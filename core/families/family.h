// What a family is: one refcounted type with the functions that change its count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refhist {

enum class Role : std::uint8_t {
  alloc,         ///< memory for an object was obtained; no reference yet unless the family has no init
  init,          ///< the object is born with `born` references
  get,           ///< one reference more
  try_get,       ///< one reference more, if it succeeds (get-unless-zero, lookup)
  put,           ///< one reference less; put(NULL) is no event
  free,          ///< the object's memory is given back
  realloc,       ///< the object's memory is given back and obtained again, perhaps elsewhere
  pool_create,   ///< a pool of objects begins
  pool_destroy,  ///< a pool ends, and with it every object in it
  use,           ///< no probe: the program has used the object, and died of that
};

/// What a call adds to the count: 1, -1 or 0.
int direction(Role role);
std::string_view role_name(Role role);
std::optional<Role> role_from_name(std::string_view name);

/// Where a probe's object pointer is found.
struct ObjectSource {
  enum class From : std::uint8_t { argument, result };
  From from = From::argument;
  std::uint8_t argument = 1;  ///< 1-based; integer and pointer arguments only
  bool indirect = false;      ///< the argument points at the pointer ("*1"); read at return for init/try_get
  std::int64_t adjust = 0;    ///< bytes from the argument to the object: a thunk's
};

/// "1".."6", "*1".."*6" or "return". Throws Error.
ObjectSource parse_object_source(std::string_view text);
std::string to_string(const ObjectSource& source);

/// When the call counts, judged by its result. `always` needs no look at it.
enum class Success : std::uint8_t { always, nonzero, zero, nonnegative, truth };

std::optional<Success> success_from_name(std::string_view name);
std::string_view success_name(Success success);

/// Only calls that are passed this value count: of an allocator whose caches share their functions.
struct CallCondition {
  std::uint8_t argument = 0;  ///< 0: all calls count
  std::uint64_t value = 0;
};

struct ProbeSpec {
  Role role = Role::get;
  std::string function;  ///< linkage name, demangled C++ name, or a glob of either
  ObjectSource object;
  CallCondition only = {};
  Success success = Success::always;
  std::uint8_t pool_argument = 0;   ///< for alloc/init in a pool: which argument is the pool; 0 none
  std::uint8_t size_argument = 0;   ///< for alloc: which argument is the size; 0 none
  std::uint8_t times_argument = 0;  ///< for alloc: which argument multiplies the size (calloc); 0 none
  std::uint8_t arguments = 0;       ///< how many it has, where none of them is on the stack; 0 not known
  bool may_exist = false;           ///< init: no birth when it has more references than a new object
  bool inside = false;              ///< the instructions that change the counter are events, not the call
  std::string origin;               ///< "json-c.toml:12" or "command line"
};

/// Where the counter of an object is and how it is read: count = scale * (raw >> shift) + bias.
struct CounterSpec {
  std::string type;                     ///< struct, class or typedef that has the member; may be empty
  std::string path;                     ///< member path, used where there is debug information
  std::optional<std::uint64_t> offset;  ///< used where there is none; wraps when in front of the object
  std::uint32_t size = 4;               ///< bytes: 1, 2, 4 or 8
  std::uint32_t shift = 0;
  std::int32_t scale = 1;  ///< -1 for GLib's grefcount, which counts downwards
  std::int32_t bias = 0;
  bool immortal_below_zero = false;  ///< gets and puts leave an object alone whose count is negative
  /// `type` is what the functions take, a part of what was named: so many bytes from that to it.
  std::optional<std::uint64_t> part_at;
  [[nodiscard]] bool known() const { return !path.empty() || offset.has_value(); }
};

/// What tells the dynamic type of a counted object.
enum class DynamicType : std::uint8_t {
  virtual_table,   ///< of C++, where the object begins with one
  gtype_instance,  ///< it begins with a pointer to its class of GLib's
  gtype,           ///< it begins with its GType
  python,          ///< its second word points at a PyTypeObject
};

/// As a family file says it; empty for what is looked for without being asked.
std::string_view dynamic_type_name(DynamicType type);
std::optional<DynamicType> dynamic_type_from_name(std::string_view name);

struct Family {
  std::string name;
  std::string description;
  std::vector<std::string> modules;  ///< file-name globs ("libjson-c.so*"); empty: any module
  std::vector<ProbeSpec> probes;
  std::vector<std::string> except;  ///< function patterns that the globs of `probes` leave out
  CounterSpec counter;
  bool allocator = false;         ///< its functions hand out plain memory, no counted objects: malloc, mmap
  bool counts_unseen = false;     ///< code that cannot be followed changes its counters, too
  bool revives = false;           ///< a get may find zero: the object was kept for another use
  std::int64_t born = 1;          ///< references that an init creates
  bool born_given = false;        ///< false: whoever has made the family does not say it, and the code may
  std::vector<std::string> runs;  ///< functions (globs) that run other code, whose doing it is then
  std::vector<std::string> fold;  ///< functions (globs) between the user's and the probes: of no interest
  std::string part_of;            ///< family: while its object at the same address lives, this one's does too
  std::vector<std::string> managed;  ///< member paths to the user's object, "*" in front: a pointer to it
  std::optional<std::uint64_t> managed_offset;  ///< bytes to that pointer, or to the object itself
  std::vector<std::string> deleters;   ///< types (globs) of control blocks that delete what they point at
  std::vector<std::string> listed_by;  ///< functions (globs): memory that they allocate points at objects
                                       ///< without holding them
  std::vector<std::string> also_of;    ///< other shipped files whose types derive from this one
  DynamicType dynamic_type = DynamicType::virtual_table;
  std::string origin;  ///< file the family came from, or "command line"

  /// Of an allocator: it cuts its blocks out of those of another, and does not hand those on as they are.
  /// The user's object derives from the counted one.
  [[nodiscard]] bool is_base() const { return managed.size() == 1 && managed.front() == "<derived>"; }
  /// The counted object is a smart pointer's control block.
  [[nodiscard]] bool has_control_blocks() const { return !managed.empty() && !is_base(); }
  [[nodiscard]] bool cuts_blocks() const { return allocator && name != "malloc" && name != "operator-new"; }
  [[nodiscard]] bool has_role(Role role) const;
  [[nodiscard]] bool folds(std::string_view function) const;
  /// The function is one of `runs`.
  [[nodiscard]] bool runs_in(std::string_view function) const;
  /// A probe names the function, of that role where one is given; `except` is not looked at.
  [[nodiscard]] bool is_probed(std::string_view linkage, std::string_view demangled,
                               std::optional<Role> role = std::nullopt) const;
  /// True when `except` names the function; asked for functions that a glob of `probes` has matched.
  [[nodiscard]] bool leaves_out(std::string_view linkage, std::string_view demangled) const;
};

}  // namespace refhist
