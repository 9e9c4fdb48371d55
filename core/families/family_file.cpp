// The TOML form of families. Every key is checked: a key that nobody reads is a misspelling, and a probe that
// is silently not armed costs the user an afternoon. So each reader below names what it expects.
#include "families/family_file.h"

#define TOML_ENABLE_FORMATTERS 0
// toml++ takes "[" at the end of a line for impossible, asserts it, and lets the compiler build on it under
// NDEBUG. Without either it finds the mistake itself a few lines later.
#define TOML_ASSERT(condition) static_cast<void>(0)
#ifdef NDEBUG
#undef NDEBUG
#define REFHIST_NDEBUG
#endif
#include <toml++/toml.h>
#ifdef REFHIST_NDEBUG
#define NDEBUG
#undef REFHIST_NDEBUG
#endif

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"

namespace refhist {
namespace {

std::optional<Role> probe_role(std::string_view name) {
  const auto role = role_from_name(name);
  return role == Role::use ? std::nullopt : role;
}

constexpr std::int64_t kSchema = 1;

const std::vector<std::string>& file_keys() {
  static const std::vector<std::string> keys{"schema", "family"};
  return keys;
}

const std::vector<std::string>& family_keys() {
  static const std::vector<std::string> keys{
      "name",        "description",    "modules",    "type",    "count",    "count_offset", "count_size",
      "count_shift", "count_scale",    "count_bias", "born",    "except",   "alloc",        "init",
      "get",         "try_get",        "put",        "free",    "realloc",  "pool_create",  "pool_destroy",
      "allocator",   "fold",           "managed",    "part_of", "immortal", "revives",      "dynamic_type",
      "listed_by",   "managed_offset", "deleters"};
  return keys;
}

const std::vector<std::string>& probe_keys() {
  static const std::vector<std::string> keys{"function", "object", "success", "pool",
                                             "size",     "times",  "event",   "may_exist"};
  return keys;
}

class Reader {
 public:
  explicit Reader(std::string origin) : origin_(std::move(origin)) {}

  std::vector<Family> families(const toml::table& file) {
    check_keys(file, file_keys(), "a family file");
    check_schema(file);
    std::vector<Family> result;
    const toml::node* list = file.get("family");
    if (list == nullptr) fail("{}: there is no family; expected at least one [[family]] table", origin_);
    if (!list->is_array_of_tables()) {
      wrong(*list, "'family' is {}; expected [[family]] tables", kind(*list));
    }
    for (const toml::node& node : *list->as_array()) result.push_back(family(*node.as_table()));
    check_names(result);
    return result;
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) {
    fail("{}: {}", place(node), fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", origin_, node.source().begin.line);
  }

  static std::string kind(const toml::node& node) {
    switch (node.type()) {
      case toml::node_type::table:
        return "a table";
      case toml::node_type::array:
        return "an array";
      case toml::node_type::string:
        return "a string";
      case toml::node_type::integer:
        return "an integer";
      case toml::node_type::floating_point:
        return "a floating-point number";
      case toml::node_type::boolean:
        return "a boolean";
      default:
        return "a date or time";
    }
  }

  void check_keys(const toml::table& table, const std::vector<std::string>& known, std::string_view what) {
    for (const auto& [key, node] : table) {
      const std::string_view word = key.str();
      if (std::find(known.begin(), known.end(), word) != known.end()) continue;
      fail("{}:{}: unknown key '{}'{}; the keys of {} are {}", origin_, key.source().begin.line, word,
           suggestion(word, known), what, join(known, ", "));
    }
  }

  void check_schema(const toml::table& file) {
    const toml::node* node = file.get("schema");
    if (node == nullptr)
      fail("{}:1: the schema is missing; expected `schema = {}` at the top", origin_, kSchema);
    const std::int64_t schema = integer(*node, "schema", 0, INT64_MAX);
    if (schema != kSchema) wrong(*node, "schema {} is not known here; expected {}", schema, kSchema);
  }

  void check_names(const std::vector<Family>& families) {
    std::set<std::string> seen;
    for (const Family& family : families) {
      if (!seen.insert(family.name).second) {
        fail("{}: family '{}' is already defined; expected another name", family.origin, family.name);
      }
    }
  }

  Family family(const toml::table& table) {
    check_keys(table, family_keys(), "a family");
    Family result;
    result.origin = place(table);
    result.name = string(required(table, "name"), "name");
    if (result.name.empty() || result.name.find_first_of(" \t*?") != std::string::npos) {
      wrong(*table.get("name"), "'{}' is not a name for a family; expected a word without spaces, * or ?",
            result.name);
    }
    if (const toml::node* node = table.get("description")) result.description = string(*node, "description");
    result.modules = strings(table, "modules");
    result.except = strings(table, "except");
    if (const toml::node* node = table.get("revives")) result.revives = boolean(*node, "revives");
    if (const toml::node* node = table.get("part_of")) result.part_of = string(*node, "part_of");
    result.fold = strings(table, "fold");
    result.managed = strings(table, "managed");
    if (const toml::node* node = table.get("managed_offset"))
      result.managed_offset = static_cast<std::uint64_t>(integer(*node, "managed_offset", 0, INT32_MAX));
    result.deleters = strings(table, "deleters");
    result.listed_by = strings(table, "listed_by");
    if (const toml::node* node = table.get("dynamic_type")) result.dynamic_type = dynamic_type(*node);
    if (const toml::node* node = table.get("born")) result.born = integer(*node, "born", 0, INT32_MAX);
    if (const toml::node* node = table.get("allocator")) result.allocator = boolean(*node, "allocator");
    counter(table, result.counter);
    for (const auto& [key, node] : table) {
      if (const auto role = probe_role(key.str())) probes(*role, node, result.probes);
    }
    // The table is sorted by key; a reader of error messages and of to_toml expects the file's order.
    std::stable_sort(result.probes.begin(), result.probes.end(),
                     [](const ProbeSpec& a, const ProbeSpec& b) { return a.role < b.role; });
    if (result.probes.empty()) {
      wrong(table, "family '{}' has no functions; expected get and put at least", result.name);
    }
    return result;
  }

  DynamicType dynamic_type(const toml::node& node) {
    const std::string word = string(node, "dynamic_type");
    const auto kind = dynamic_type_from_name(word);
    if (!kind) wrong(node, "dynamic_type '{}' is not known; expected GTypeInstance, GType or PyObject", word);
    return *kind;
  }

  void counter(const toml::table& table, CounterSpec& counter) {
    if (const toml::node* node = table.get("type")) counter.type = string(*node, "type");
    if (const toml::node* node = table.get("count")) counter.path = string(*node, "count");
    if (const toml::node* node = table.get("count_offset")) {
      counter.offset = static_cast<std::uint64_t>(integer(*node, "count_offset", INT32_MIN, INT32_MAX));
    }
    if (const toml::node* node = table.get("count_size")) {
      const std::int64_t size = integer(*node, "count_size", 1, 8);
      if ((size & (size - 1)) != 0) wrong(*node, "a counter of {} bytes; expected 1, 2, 4 or 8", size);
      counter.size = static_cast<std::uint32_t>(size);
    }
    if (const toml::node* node = table.get("count_shift")) {
      counter.shift = static_cast<std::uint32_t>(integer(*node, "count_shift", 0, 63));
    }
    if (const toml::node* node = table.get("count_scale")) {
      counter.scale = static_cast<std::int32_t>(integer(*node, "count_scale", INT32_MIN, INT32_MAX));
      if (counter.scale == 0)
        wrong(*node, "count_scale is 0; expected 1, or -1 for a counter that counts down");
    }
    if (const toml::node* node = table.get("count_bias")) {
      counter.bias = static_cast<std::int32_t>(integer(*node, "count_bias", INT32_MIN, INT32_MAX));
    }
    if (const toml::node* node = table.get("immortal")) {
      const std::string value = string(*node, "immortal");
      if (value != "negative") wrong(*node, "immortal is \"{}\"; expected \"negative\"", value);
      if (!counter.known())
        wrong(*node, "immortal without a counter; expected count or count_offset as well");
      counter.immortal_below_zero = true;
    }
    const toml::node* size = table.get("count_size");
    if (size != nullptr && !counter.known()) {
      wrong(*size, "count_size without a counter; expected count or count_offset as well");
    }
  }

  void probes(Role role, const toml::node& list, std::vector<ProbeSpec>& out) {
    if (!list.is_array()) {
      wrong(list, "'{}' is {}; expected an array of function names or {{ function = \"...\" }} tables",
            role_name(role), kind(list));
    }
    for (const toml::node& node : *list.as_array()) {
      ProbeSpec spec = probe(role, node);
      const auto twin = std::find_if(out.begin(), out.end(), [&](const ProbeSpec& other) {
        return other.role == role && other.function == spec.function &&
               to_string(other.object) == to_string(spec.object);
      });
      if (twin != out.end()) {
        wrong(node, "'{}' is listed twice under {}; expected it once", spec.function, role_name(role));
      }
      out.push_back(std::move(spec));
    }
  }

  ProbeSpec probe(Role role, const toml::node& node) {
    ProbeSpec spec;
    spec.role = role;
    spec.origin = place(node);
    if (role == Role::alloc || role == Role::init || role == Role::pool_create) {
      spec.object.from = ObjectSource::From::result;
    }
    if (role == Role::try_get) spec.success = Success::nonzero;
    if (node.is_string()) {
      spec.function = function(node);
    } else if (const toml::table* table = node.as_table()) {
      probe_table(*table, spec);
    } else {
      wrong(node, "{} among the functions of {}; expected a name or {{ function = \"...\" }}", kind(node),
            role_name(role));
    }
    return spec;
  }

  void probe_table(const toml::table& table, ProbeSpec& spec) {
    check_keys(table, probe_keys(), "a function");
    spec.function = function(required(table, "function"));
    if (const toml::node* node = table.get("object")) spec.object = object(*node);
    if (const toml::node* node = table.get("success")) spec.success = success(*node);
    if (const toml::node* node = table.get("event")) spec.inside = inside(*node);
    if (const toml::node* node = table.get("may_exist")) spec.may_exist = may_exist(*node, spec.role);
    if (const toml::node* node = table.get("pool")) spec.pool_argument = argument(*node, "pool");
    if (const toml::node* node = table.get("times")) spec.times_argument = argument(*node, "times");
    if (const toml::node* node = table.get("size")) spec.size_argument = argument(*node, "size");
  }

  std::string function(const toml::node& node) {
    std::string name = string(node, "function");
    if (trim(name).empty()) wrong(node, "an empty function name; expected a name or a glob");
    return name;
  }

  bool may_exist(const toml::node& node, Role role) {
    if (role != Role::init)
      wrong(node, "'may_exist' is for init only; {} acts on objects that exist", role_name(role));
    return boolean(node, "may_exist");
  }

  ObjectSource object(const toml::node& node) {
    const std::string text = string(node, "object");
    try {
      return parse_object_source(text);
    } catch (const Error& error) {
      wrong(node, "{}", error.what());
    }
  }

  Success success(const toml::node& node) {
    const std::string word = string(node, "success");
    if (const auto known = success_from_name(word)) return *known;
    static const std::vector<std::string> kWords{"always", "nonzero", "zero", "nonnegative", "truth"};
    wrong(node, "unknown success '{}'{}; expected {}", word, suggestion(word, kWords), join(kWords, ", "));
  }

  bool inside(const toml::node& node) {
    const std::string word = string(node, "event");
    if (word == "call" || word == "change") return word == "change";
    wrong(node, "unknown event '{}'; expected call, or change: each instruction that changes the counter",
          word);
  }

  std::uint8_t argument(const toml::node& node, std::string_view key) {
    return static_cast<std::uint8_t>(integer(node, key, 1, 6));
  }

  const toml::node& required(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) wrong(table, "'{}' is missing; expected {} = \"...\"", key, key);
    return *node;
  }

  bool boolean(const toml::node& node, std::string_view key) {
    if (!node.is_boolean()) wrong(node, "'{}' is {}; expected true or false", key, kind(node));
    return node.as_boolean()->get();
  }

  std::string string(const toml::node& node, std::string_view key) {
    if (!node.is_string()) wrong(node, "'{}' is {}; expected a string", key, kind(node));
    return node.as_string()->get();
  }

  std::vector<std::string> strings(const toml::table& table, std::string_view key) {
    std::vector<std::string> result;
    const toml::node* node = table.get(key);
    if (node == nullptr) return result;
    if (!node->is_array()) wrong(*node, "'{}' is {}; expected an array of strings", key, kind(*node));
    for (const toml::node& element : *node->as_array()) result.push_back(string(element, key));
    return result;
  }

  std::int64_t integer(const toml::node& node, std::string_view key, std::int64_t low, std::int64_t high) {
    if (!node.is_integer()) wrong(node, "'{}' is {}; expected an integer", key, kind(node));
    const std::int64_t value = node.as_integer()->get();
    if (value < low) wrong(node, "{} = {}; expected {} or more", key, value, low);
    if (value > high) wrong(node, "{} = {}; expected {} or less", key, value, high);
    return value;
  }

  std::string origin_;
};

/// Behind the string that begins at `begin`: its closing quotes, or the end of the line where it may have
/// only one.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const bool many_lines =
      begin + 2 < text.size() && text[begin + 1] == text[begin] && text[begin + 2] == text[begin];
  const std::string_view quotes = text.substr(begin, many_lines ? 3 : 1);
  for (std::size_t i = begin + quotes.size(); i < text.size(); ++i) {
    if (text[i] == '\\' && quotes.front() == '"') {
      ++i;
    } else if (!many_lines && text[i] == '\n') {
      return i;
    } else if (text.substr(i).starts_with(quotes)) {
      return i + quotes.size();
    }
  }
  return text.size();
}

/// Of the first character outside of strings and comments that is not ASCII, which TOML has no use for there;
/// 0: none. toml++ 3.0 runs into what it has marked as unreachable at some of them.
std::size_t foreign_line(std::string_view text) {
  constexpr std::string_view kByteOrder = "\xef\xbb\xbf";
  std::size_t line = 1;
  for (std::size_t i = text.starts_with(kByteOrder) ? kByteOrder.size() : 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (text[i] == '"' || text[i] == '\'') {
      i = end_of_string(text, i) - 1;
    } else if ((text[i] & '\x80') != 0) {
      return line;
    }
    const std::string_view passed = text.substr(begin, i + 1 - begin);
    line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
  }
  return 0;
}

}  // namespace

std::vector<Family> parse_families(std::string_view text, const std::string& origin) {
  if (const std::size_t line = foreign_line(text); line != 0)
    fail("{}:{}: a character outside of quotes that is not ASCII; expected TOML", origin, line);
  toml::table table;
  try {
    table = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    fail("{}:{}: {}; expected TOML", origin, error.source().begin.line, error.description());
  }
  return Reader(origin).families(table);
}

std::vector<Family> read_family_file(const std::string& path) {
  return parse_families(InputFile(path).text(), path);
}

}  // namespace refhist
