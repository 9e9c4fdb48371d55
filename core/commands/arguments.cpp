#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"

namespace refhist {

namespace {
const OptionSpec* find_option(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const OptionSpec& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(const std::string& name, const std::vector<OptionSpec>& options,
                               const std::string& verb) {
  std::vector<std::string> names;
  for (const OptionSpec& option : options) names.push_back(option.name);
  const auto near = nearest(name, names);
  fail("{} has no option {}{}", verb, name,
       near ? fmt::format(" (did you mean {}?)", *near) : fmt::format(": see refhist help {}", verb));
}
}  // namespace

Arguments::Arguments(const std::vector<std::string>& words, const std::vector<OptionSpec>& options,
                     const std::string& verb) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option_like = word.size() > 2 && word.starts_with("--") && (word[2] >= 'a' && word[2] <= 'z');
    if (!option_like) {
      words_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec* option = find_option(options, name);
    if (option == nullptr) fail_unknown(name, options, verb);
    std::vector<std::string>& values = options_[name];
    if (option->value.starts_with('[')) {
      const std::string choice = option->value.substr(1, option->value.size() - 2);
      const bool chosen = equals == std::string::npos ? i + 1 < words.size() && words[i + 1] == choice
                                                      : word.substr(equals + 1) == choice;
      if (equals != std::string::npos && !chosen) fail("{} takes {} or no value", name, choice);
      if (chosen && equals == std::string::npos) ++i;
      values.push_back(chosen ? choice : "");
    } else if (option->value.empty()) {
      if (equals != std::string::npos) fail("{} takes no value", name);
      values.emplace_back();
    } else if (equals != std::string::npos) {
      values.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      values.push_back(words[++i]);
    } else {
      fail("{} needs a value: {} {}", name, name, option->value);
    }
  }
}

std::vector<std::string> Arguments::all(const std::string& option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? std::vector<std::string>{} : found->second;
}

std::string Arguments::value(const std::string& option, const std::string& fallback) const {
  const auto found = options_.find(option);
  return found == options_.end() ? fallback : found->second.back();
}

std::int64_t Arguments::number(const std::string& option, std::int64_t fallback) const {
  const auto found = options_.find(option);
  if (found == options_.end()) return fallback;
  const std::string& text = found->second.back();
  const bool hexadecimal = text.starts_with("0x");
  const char* begin = text.data() + (hexadecimal ? 2 : (text.starts_with("+") ? 1 : 0));
  const char* end = text.data() + text.size();
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number, hexadecimal ? 16 : 10);
  if (error != std::errc() || stop != end || begin == end)
    fail("{} needs a whole number, not {}", option, text);
  return number;
}

void Arguments::expect_words(std::size_t most, const std::string& verb) const {
  if (words_.size() > most) fail("{} does not take \"{}\": see refhist help {}", verb, words_[most], verb);
}

}  // namespace refhist
