// Writes families as TOML: what `discover` prints and what the file reader takes back.
#include <fmt/core.h>

#include "base/text.h"
#include "families/family_file.h"

namespace refhist {
namespace {

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string array_of(const std::vector<std::string>& elements) {
  constexpr std::size_t kLineLimit = 100;
  const std::string line = join(elements, ", ");
  if (line.size() <= kLineLimit) return fmt::format("[{}]", line);
  return fmt::format("[\n  {},\n]", join(elements, ",\n  "));
}

std::string toml_array(const std::vector<std::string>& words) {
  std::vector<std::string> elements;
  for (const std::string& word : words) elements.push_back(toml_string(word));
  return array_of(elements);
}

/// A plain string where the role's defaults say it all, else an inline table.
std::string element(const ProbeSpec& probe) {
  const bool from_result =
      probe.role == Role::alloc || probe.role == Role::init || probe.role == Role::pool_create;
  const std::string usual_object = from_result ? "return" : "1";
  const Success usual_success = probe.role == Role::try_get ? Success::nonzero : Success::always;
  std::vector<std::string> keys{fmt::format("function = {}", toml_string(probe.function))};
  if (const std::string object = to_string(probe.object); object != usual_object) {
    keys.push_back(fmt::format("object = {}", toml_string(object)));
  }
  if (probe.success != usual_success) {
    keys.push_back(fmt::format("success = {}", toml_string(success_name(probe.success))));
  }
  if (probe.pool_argument != 0) keys.push_back(fmt::format("pool = {}", probe.pool_argument));
  if (probe.size_argument != 0) keys.push_back(fmt::format("size = {}", probe.size_argument));
  if (probe.times_argument != 0) keys.push_back(fmt::format("times = {}", probe.times_argument));
  if (probe.arguments != 0) keys.push_back(fmt::format("arguments = {}", probe.arguments));
  if (probe.inside) keys.emplace_back("event = \"change\"");
  if (probe.may_exist) keys.emplace_back("may_exist = true");
  if (keys.size() == 1) return toml_string(probe.function);
  return fmt::format("{{ {} }}", join(keys, ", "));
}

std::string counter_lines(const CounterSpec& counter) {
  const CounterSpec usual;
  std::string lines;
  if (!counter.type.empty()) lines += fmt::format("type = {}\n", toml_string(counter.type));
  if (!counter.path.empty()) lines += fmt::format("count = {}\n", toml_string(counter.path));
  if (counter.offset) lines += fmt::format("count_offset = {}\n", static_cast<std::int64_t>(*counter.offset));
  if (counter.size != usual.size) lines += fmt::format("count_size = {}\n", counter.size);
  if (counter.shift != usual.shift) lines += fmt::format("count_shift = {}\n", counter.shift);
  if (counter.scale != usual.scale) lines += fmt::format("count_scale = {}\n", counter.scale);
  if (counter.bias != usual.bias) lines += fmt::format("count_bias = {}\n", counter.bias);
  if (counter.immortal_below_zero) lines += "immortal = \"negative\"\n";
  return lines;
}

std::string role_line(const Family& family, Role role) {
  std::vector<std::string> elements;
  for (const ProbeSpec& probe : family.probes) {
    if (probe.role == role) elements.push_back(element(probe));
  }
  return elements.empty() ? "" : fmt::format("{} = {}\n", role_name(role), array_of(elements));
}

}  // namespace

std::string to_toml(const Family& family) {
  std::string text = fmt::format("[[family]]\nname = {}\n", toml_string(family.name));
  if (!family.description.empty()) text += fmt::format("description = {}\n", toml_string(family.description));
  if (!family.modules.empty()) text += fmt::format("modules = {}\n", toml_array(family.modules));
  if (family.allocator) text += "allocator = true\n";
  text += counter_lines(family.counter);
  if (family.born != 1) text += fmt::format("born = {}\n", family.born);
  if (family.counts_unseen) text += "counts_unseen = true\n";
  if (family.revives) text += "revives = true\n";
  for (const Role role : {Role::alloc, Role::init, Role::get, Role::try_get, Role::put, Role::free,
                          Role::realloc, Role::pool_create, Role::pool_destroy}) {
    text += role_line(family, role);
  }
  if (!family.part_of.empty()) text += fmt::format("part_of = {}\n", toml_string(family.part_of));
  if (!family.runs.empty()) text += fmt::format("runs = {}\n", toml_array(family.runs));
  if (!family.fold.empty()) text += fmt::format("fold = {}\n", toml_array(family.fold));
  if (!family.also_of.empty()) text += fmt::format("also_of = {}\n", toml_array(family.also_of));
  if (!family.listed_by.empty()) text += fmt::format("listed_by = {}\n", toml_array(family.listed_by));
  if (!family.managed.empty()) text += fmt::format("managed = {}\n", toml_array(family.managed));
  if (family.managed_offset) text += fmt::format("managed_offset = {}\n", *family.managed_offset);
  if (!family.deleters.empty()) text += fmt::format("deleters = {}\n", toml_array(family.deleters));
  if (const std::string_view type = dynamic_type_name(family.dynamic_type); !type.empty())
    text += fmt::format("dynamic_type = {}\n", toml_string(std::string(type)));
  if (!family.except.empty()) text += fmt::format("except = {}\n", toml_array(family.except));
  return text;
}

std::string to_toml(const std::vector<Family>& families) {
  std::string text = "schema = 1\n";
  for (const Family& family : families) text += '\n' + to_toml(family);
  return text;
}

}  // namespace refhist
