#include "base/short_name.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace refhist {

namespace {

constexpr std::array<std::string_view, 7> kDefaults = {
    "std::allocator<",      "std::char_traits<",        "std::less<", "std::equal_to<", "std::hash<",
    "std::default_delete<", "(__gnu_cxx::_Lock_policy)"};

constexpr std::array<std::string_view, 3> kInner = {"__cxx11::", "__1::", "_V2::"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypedefs = {{
    {"std::basic_string<char>", "std::string"},
    {"std::basic_string<wchar_t>", "std::wstring"},
    {"std::basic_string_view<char>", "std::string_view"},
    {"std::basic_ostream<char>", "std::ostream"},
    {"std::basic_istream<char>", "std::istream"},
    {"std::basic_ostringstream<char>", "std::ostringstream"},
    {"std::basic_ofstream<char>", "std::ofstream"},
    {"std::basic_ifstream<char>", "std::ifstream"},
}};

bool is_default(std::string_view argument) {
  return std::any_of(kDefaults.begin(), kDefaults.end(),
                     [&](std::string_view known) { return argument.starts_with(known); });
}

/// The operator at the end of the text is one whose name has < or > in it.
bool ends_with_operator(std::string_view text) {
  constexpr std::string_view kOperator = "operator";
  const std::size_t found = text.rfind(kOperator);
  if (found == std::string_view::npos) return false;
  const std::string_view behind = text.substr(found + kOperator.size());
  return behind.find_first_not_of("<>-=") == std::string_view::npos && behind.size() < 3;
}

class Shortener {
 public:
  explicit Shortener(std::string_view name) : name_(name) {}

  /// Up to the end, or to what ends a template argument.
  std::string until_end(bool argument) {
    std::string text;
    int depth = 0;  // of brackets other than < and >
    while (at_ < name_.size()) {
      const char c = name_[at_];
      if (argument && depth == 0 && (c == ',' || (c == '>' && !ends_with_operator(text)))) break;
      if (c == '<' && !ends_with_operator(text)) {
        ++at_;
        add_arguments(text);
        continue;
      }
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      text += c;
      ++at_;
      drop_inner_namespace(text);
    }
    return text;
  }

 private:
  void add_arguments(std::string& text) {
    std::vector<std::string> arguments;
    while (at_ < name_.size()) {
      std::string argument(trim(until_end(true)));
      if (arguments.empty() || !is_default(argument)) arguments.push_back(std::move(argument));
      if (at_ >= name_.size() || name_[at_++] == '>') break;
    }
    text += "<" + join(arguments, ", ") + ">";
    for (const auto& [whole, known] : kTypedefs) {
      if (!text.ends_with(whole)) continue;
      text.replace(text.size() - whole.size(), whole.size(), known);
      break;
    }
  }

  static void drop_inner_namespace(std::string& text) {
    for (const std::string_view inner : kInner) {
      if (text.ends_with(inner)) text.resize(text.size() - inner.size());
    }
  }

  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace

std::string short_name(std::string_view name) {
  if (name.find("::") == std::string_view::npos && name.find('<') == std::string_view::npos)
    return std::string(name);
  return Shortener(name).until_end(false);
}

}  // namespace refhist
