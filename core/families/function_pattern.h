// A function name as users write it: a C name, a C++ name with or without its parameters, or a glob.
#pragma once

#include <string>
#include <string_view>

namespace refhist {

class FunctionPattern {
 public:
  explicit FunctionPattern(std::string text);

  /// `linkage` is the symbol's name ("_ZN2ns1fEv", "f.part.0" matches as "f"); `demangled` may be equal.
  /// A pattern without '(' ignores parameters, so it takes every overload. "ns::f" also takes
  /// "ns::f<int>"; "f" alone never matches "ns::f".
  [[nodiscard]] bool matches(std::string_view linkage, std::string_view demangled) const;
  /// What is in every linkage name that matches, so that others need not be demangled. Empty: not known.
  [[nodiscard]] std::string_view needle() const { return needle_; }
  [[nodiscard]] bool is_glob() const { return glob_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool glob_ = false;
  bool has_parameters_ = false;
  std::string needle_;
  std::string wanted_;  // what is compared: the text, or name and parameters without needless spaces
};

/// A C name: no glob, no C++ scope, no parameters.
bool is_plain_name(std::string_view pattern);

/// The demangled name without return type, parameters and trailing qualifiers: "ns::f<int>".
std::string function_part(std::string_view demangled);
/// The same without template arguments: "ns::f".
std::string short_function_name(std::string_view demangled);

/// "net::Conn<int>::Conn(int)": the last part of the name is the class's.
bool is_constructor(std::string_view demangled);

}  // namespace refhist
