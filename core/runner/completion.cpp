#include "runner/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "facade/session.h"
#include "reports/verdict_list.h"
#include "runner/own_files.h"

namespace refhist {

namespace {

Completion among(std::vector<std::string> candidates, const std::string& word) {
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(word); });
  return {std::move(candidates), Completion::Also::nothing, {}};
}

/// What the core answers behind `line`, which ends with a blank.
Completion of_the_core(const std::string& line, const std::string& word) {
  std::vector<std::string> words = Session({find_families()}).complete(line + word);
  std::erase_if(words, [](const std::string& candidate) { return candidate.starts_with("--"); });
  return {std::move(words), Completion::Also::nothing, {}};
}

/// The last of several words between commas.
Completion complete_verdicts(const std::string& word) {
  const std::size_t comma = word.rfind(',');
  const std::string before = comma == std::string::npos ? std::string() : word.substr(0, comma + 1);
  std::vector<std::string> names = verdict_names();
  names.emplace_back("imbalance");
  for (std::string& name : names) name = before + name;
  return among(std::move(names), word);
}

Completion complete_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  const bool has_name = equals != std::string::npos;
  const std::string name = has_name ? word.substr(0, equals) + "=" : std::string();
  Completion completion = has_name
                              ? of_the_core("set " + replace_all(name, "=", " "), word.substr(equals + 1))
                              : of_the_core("set ", word);
  for (std::string& found : completion.words) found = has_name ? name + found : found + "=";
  return completion;
}

Completion complete_value(const std::string& placeholder, const std::string& word) {
  if (placeholder == "FILE") return {{}, Completion::Also::files, {}};
  if (placeholder == "DIR") return {{}, Completion::Also::folders, {}};
  if (placeholder == "FAMILY" || placeholder == "GLOB") return of_the_core("track ", word);
  if (placeholder == "LIST") return complete_verdicts(word);
  if (placeholder == "NAME=VALUE") return complete_setting(word);
  if (placeholder.find('|') != std::string::npos) return among(split(placeholder, '|'), word);
  return {};
}

const OptionSpec* find_option(const std::vector<OptionSpec>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const OptionSpec& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// "--name=value", with the cursor in the value.
Completion complete_joined(const std::vector<OptionSpec>& options, const std::string& word,
                           std::size_t equals) {
  const std::string name = word.substr(0, equals);
  const OptionSpec* option = find_option(options, name);
  if (option == nullptr) return {};
  Completion completion = complete_value(option->value, word.substr(equals + 1));
  for (std::string& found : completion.words) found = name + "=" + found;
  return completion;
}

bool takes_next_word(const std::vector<OptionSpec>& options, const std::string& word) {
  const OptionSpec* option = find_option(options, word);
  return option != nullptr && !option->value.empty() && !option->value.starts_with('[');
}

}  // namespace

Completion complete_options(const std::vector<OptionSpec>& options, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& last = words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--") return {{}, Completion::Also::nothing, i + 2};
    if (!words[i].starts_with('-')) return {{}, Completion::Also::nothing, i + 1};
    if (!takes_next_word(options, words[i])) continue;
    if (++i + 1 == words.size()) return complete_value(find_option(options, words[i - 1])->value, last);
  }
  if (!last.starts_with('-') && !last.empty()) return {{}, Completion::Also::nothing, words.size()};
  const std::size_t equals = last.find('=');
  if (equals != std::string::npos) return complete_joined(options, last, equals);
  std::vector<std::string> names = {"--"};
  for (const OptionSpec& option : options) names.push_back(option.name);
  return among(std::move(names), last);
}

std::string completion_text(const Completion& completion) {
  std::string text;
  for (const std::string& word : completion.words) text += word + "\n";
  if (completion.also == Completion::Also::files) text += ":files\n";
  if (completion.also == Completion::Also::folders) text += ":folders\n";
  if (completion.command_at) text += fmt::format(":command {}\n", *completion.command_at);
  return text;
}

}  // namespace refhist
