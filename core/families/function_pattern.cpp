// Names of C++ functions are taken apart by a small scanner over demangled text. It knows what the GNU
// demangler writes: return types in front of templates, "(anonymous namespace)", operators, local scopes
// such as "f(int)::{lambda()#1}::operator()() const", "[abi:cxx11]" tags and "[clone .part.0]" endings.
#include "families/function_pattern.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "symbols/module.h"

namespace refhist {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

/// The parts of a demangled function name, as positions in the text.
struct Parts {
  std::size_t begin = 0;           ///< of the qualified name, after a return type
  std::size_t end = 0;             ///< of the qualified name
  std::size_t parameters_end = 0;  ///< equals `end` when there are no parameters
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Parts scan() {
    Parts parts;
    while (at_ < text_.size()) {
      if (operator_here()) {
        skip_operator();
      } else if (here("[clone") || (at_ > 0 && here(" [clone"))) {
        break;
      } else if (text_[at_] == '(') {
        const std::size_t open = at_;
        skip_group('(', ')');
        if (!belongs_to_scope(open)) {
          parts.end = open;
          parts.parameters_end = at_;
          return parts_from(parts);
        }
      } else if (text_[at_] == '<') {
        skip_group('<', '>');
      } else if (text_[at_] == '{') {
        skip_group('{', '}');
      } else if (text_[at_] == ' ') {
        parts_begin_ = ++at_;
      } else {
        ++at_;
      }
    }
    parts.end = parts.parameters_end = at_;
    return parts_from(parts);
  }

 private:
  [[nodiscard]] bool here(std::string_view word) const { return text_.substr(at_, word.size()) == word; }

  [[nodiscard]] bool operator_here() const {
    constexpr std::string_view kWord = "operator";
    if (!here(kWord) || (at_ > 0 && is_word(text_[at_ - 1]))) return false;
    const std::size_t next = at_ + kWord.size();
    return next < text_.size() && !is_word(text_[next]);
  }

  void skip_operator() {
    static constexpr std::array<std::string_view, 19> kLong{"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                                            ">>", "<=", ">=",  "->",  "==",  "!=",  "&&",
                                                            "||", "++", "--",  "+=",  "-="};
    at_ += 8;
    if (text_[at_] == ' ') {  // "operator new[]", "operator bool"
      const std::size_t open = text_.find('(', at_);
      at_ = open == std::string_view::npos ? text_.size() : open;
      return;
    }
    for (const std::string_view symbol : kLong) {
      if (here(symbol)) {
        at_ += symbol.size();
        skip_blank_before_arguments();
        return;
      }
    }
    at_ += at_ + 1 < text_.size() && text_[at_ + 1] == '=' ? 2 : 1;
    skip_blank_before_arguments();
  }

  /// "operator< <int>": the blank is part of the name.
  void skip_blank_before_arguments() {
    if (here(" <")) ++at_;
  }

  /// Steps over a balanced group; parentheses inside angle brackets and the other way round count too.
  void skip_group(char open, char close) {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(' && open == '<') {
        skip_group('(', ')');
        --at_;
        continue;
      }
      if (c == '>' && at_ > 0 && text_[at_ - 1] == '-') continue;
      if (c == open) ++depth;
      if (c == close && --depth == 0) {
        ++at_;
        return;
      }
    }
  }

  /// After a group in parentheses: is it "(anonymous namespace)", decltype(…) or the function of a local
  /// scope?
  bool belongs_to_scope(std::size_t open) {
    if (trim(text_.substr(0, open)).ends_with("decltype")) return true;
    for (const std::string_view qualifier :
         {"", " const", " &", " &&", " const &", " const&", "[abi:cxx11]"}) {
      if (!here(qualifier)) continue;
      const std::size_t after = at_ + qualifier.size();
      if (text_.substr(after, 2) == "::") {
        at_ = after;
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] Parts parts_from(Parts parts) const {
    parts.begin = parts_begin_ > parts.end ? 0 : parts_begin_;
    return parts;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t parts_begin_ = 0;
};

/// Drops "[abi:…]" tags.
std::string without_tags(std::string_view name) {
  std::string result;
  while (!name.empty()) {
    const std::size_t tag = name.find("[abi:");
    result += name.substr(0, tag);
    if (tag == std::string_view::npos) break;
    const std::size_t end = name.find(']', tag);
    if (end == std::string_view::npos) break;
    name.remove_prefix(end + 1);
  }
  return result;
}

/// "ns::Ref<int>::get<char>" -> "ns::Ref::get"; operators are kept.
std::string without_template_arguments(std::string_view name) {
  std::string result;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool after_operator = result.ends_with("operator") || result.ends_with("operator<") ||
                                result.ends_with("operator-") || result.ends_with("operator>");
    if (depth == 0 && after_operator && (name[i] == '<' || name[i] == '>')) {
      result += name[i];
    } else if (name[i] == '<') {
      ++depth;
    } else if (name[i] == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      result += name[i];
    }
  }
  return result;
}

/// Spaces only where two words meet, so that "char *", "char*" and "A<B<int> >" compare equal to what is
/// meant.
std::string squeezed(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ') {
      result += text[i];
      continue;
    }
    const bool between_words =
        !result.empty() && is_word(result.back()) && i + 1 < text.size() && is_word(text[i + 1]);
    if (between_words) result += ' ';
  }
  return result;
}

std::string with_parameters(std::string_view demangled) {
  const Parts parts = Scanner(demangled).scan();
  return squeezed(without_tags(demangled.substr(parts.begin, parts.parameters_end - parts.begin)));
}

/// What the mangled names of an operator outside of every scope begin with, as far as it matters.
std::string_view mangled_operator(std::string_view name) {
  if (name == "operator new") return "_Znw";
  if (name == "operator new[]") return "_Zna";
  if (name == "operator delete") return "_Zdl";
  if (name == "operator delete[]") return "_Zda";
  return {};
}

/// Mangled names have an abbreviation for it in std.
bool is_abbreviated(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kWords{"allocator",     "basic_string",  "string",
                                                          "basic_istream", "basic_ostream", "basic_iostream",
                                                          "istream",       "ostream",       "iostream"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// `name`: a pattern without parameters. The word at its end is in the mangled name, too.
std::string_view needle_of(std::string_view name) {
  if (name.find("operator") != std::string_view::npos) return mangled_operator(name);
  if (name.find_last_of(")}]*?>") == name.size() - 1) return {};
  const std::string_view word = name.substr(name.find_last_of(":*?>]) ~") + 1);
  return is_abbreviated(word) ? std::string_view() : word;
}

bool same(bool glob, std::string_view pattern, std::string_view text) {
  return glob ? glob_match(pattern, text) : pattern == text;
}

}  // namespace

std::string function_part(std::string_view demangled) {
  const Parts parts = Scanner(demangled).scan();
  std::string name = without_tags(demangled.substr(parts.begin, parts.end - parts.begin));
  if (name.ends_with(' ')) name.pop_back();
  return name;
}

bool is_plain_name(std::string_view pattern) {
  return !is_glob(pattern) && pattern.find_first_of(":( ") == std::string_view::npos;
}

std::string short_function_name(std::string_view demangled) {
  return without_template_arguments(function_part(demangled));
}

FunctionPattern::FunctionPattern(std::string text) : text_(std::move(text)) {
  const Parts parts = Scanner(text_).scan();
  has_parameters_ = parts.parameters_end > parts.end;
  glob_ = refhist::is_glob(std::string_view(text_).substr(parts.begin, parts.end - parts.begin));
  const std::string_view name = trim(std::string_view(text_).substr(0, parts.end));
  needle_ = name.empty() ? std::string_view() : needle_of(name);
  wanted_ = has_parameters_ ? with_parameters(text_) : text_;
}

bool FunctionPattern::matches(std::string_view linkage, std::string_view demangled) const {
  const std::string_view base = clone_base(linkage);
  if (same(glob_, wanted_, base)) return true;
  if (demangled == linkage || demangled == base) return false;
  if (has_parameters_) return same(glob_, wanted_, with_parameters(demangled));
  const std::string name = function_part(demangled);
  if (same(glob_, wanted_, name)) return true;
  return wanted_.find('<') == std::string::npos && same(glob_, wanted_, without_template_arguments(name));
}

bool is_constructor(std::string_view demangled) {
  const std::string name = short_function_name(demangled);
  const std::size_t last = name.rfind("::");
  if (last == std::string::npos) return false;
  const std::string scope = name.substr(0, last);
  const std::size_t outer = scope.rfind("::");
  return name.substr(last + 2) == (outer == std::string::npos ? scope : scope.substr(outer + 2));
}

}  // namespace refhist
