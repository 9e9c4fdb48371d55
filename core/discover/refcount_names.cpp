#include "discover/refcount_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "base/text.h"

namespace refhist {
namespace {

using Words = std::vector<std::string>;

struct Word {
  std::string text;       // lower case
  std::size_t begin = 0;  // in the name
  std::size_t end = 0;
};

bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// A word begins where lower case turns to upper ("addRef") and before the last capital of a run
/// ("HTTPConn").
bool word_begins(std::string_view name, std::size_t at) {
  if (!is_upper(name[at])) return false;
  if (is_lower(name[at - 1])) return true;
  return is_upper(name[at - 1]) && at + 1 < name.size() && is_lower(name[at + 1]);
}

/// The kernel's way: "dget" is "d get".
void split_short_name(std::vector<Word>& words) {
  static constexpr std::array<std::string_view, 3> kVerbs{"get", "put", "hold"};
  if (words.size() != 1) return;
  Word& word = words.front();
  for (const std::string_view verb : kVerbs) {
    if (word.text.size() <= verb.size() || !word.text.ends_with(verb)) continue;
    const std::size_t subject = word.text.size() - verb.size();
    words.push_back({std::string(verb), word.begin + subject, word.end});
    words[0].end = words[0].begin + subject;
    words[0].text.resize(subject);
    return;
  }
}

std::vector<Word> split_name(std::string_view name) {
  std::vector<Word> words;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_word_character(name[i])) {
      open = false;
      continue;
    }
    if (!open || word_begins(name, i)) words.push_back({"", i, i});
    open = true;
    words.back().text += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    words.back().end = i + 1;
  }
  split_short_name(words);
  return words;
}

Words texts(const std::vector<Word>& words) {
  Words result;
  for (const Word& word : words) result.push_back(word.text);
  return result;
}

struct Verb {
  std::string_view get;   // words separated by blanks
  std::string_view puts;  // alternatives separated by '|'
  Certainty certainty;
};

constexpr std::array<Verb, 34> kVerbs{{
    {"ref", "unref|deref|un ref|rele|release|drop|free|destroy", Certainty::sure},
    {"reference", "unreference|dereference|destroy|release|free|unref", Certainty::sure},
    {"add reference", "remove reference|del reference|drop reference|sub reference|release", Certainty::sure},
    {"up ref", "free|down ref|put|unref", Certainty::sure},
    {"upref", "free|downref|put|unref", Certainty::sure},
    {"add ref", "release|rem ref|remove ref|del ref|drop ref|dec ref|sub ref|rm ref|free|put",
     Certainty::sure},
    {"addref", "release|remref|delref|dropref|decref|subref|rmref|free|put", Certainty::sure},
    {"inc ref", "dec ref|drop ref|put ref|release", Certainty::sure},
    {"incref", "decref|dropref|putref|release", Certainty::sure},
    {"incr ref", "decr ref", Certainty::sure},
    {"get ref", "drop ref|release ref|unref", Certainty::sure},
    {"take ref", "drop ref|release ref|put ref|give ref|unref", Certainty::sure},
    {"retain", "release|free|drop|unretain", Certainty::sure},
    {"kref", "kunref", Certainty::sure},
    {"inc", "dec", Certainty::counts},
    {"incr", "decr", Certainty::counts},
    {"increment", "decrement", Certainty::counts},
    {"get", "put|drop|release", Certainty::likely},
    {"acquire", "release|drop|free|put", Certainty::likely},
    {"grab", "drop|release|ungrab|put", Certainty::likely},
    {"hold", "release|unhold|drop|rele|put", Certainty::likely},
    {"keep", "drop|release|put|unkeep", Certainty::likely},
    {"use", "unuse|release|drop|done", Certainty::likely},
    {"pin", "unpin|release", Certainty::likely},
    {"take", "drop|put|release|give", Certainty::likely},
    {"share", "unshare|release|free|drop|close|put", Certainty::likely},
    {"claim", "release|unclaim|drop", Certainty::likely},
    {"borrow", "return|release", Certainty::likely},
    {"open", "close|release|put", Certainty::likely},
    {"attach", "detach|release", Certainty::likely},
    {"join", "leave", Certainty::likely},
    {"dup", "free|unref|release|destroy|close|put|drop|dispose|delete", Certainty::copies},
    {"copy", "free|unref|release|destroy|close|put|drop|dispose|delete", Certainty::copies},
    {"clone", "free|unref|release|destroy|close|put|drop|dispose|delete", Certainty::copies},
}};

bool starts_with(const Words& words, const Words& start) {
  return words.size() >= start.size() && std::equal(start.begin(), start.end(), words.begin());
}

/// Words that say how, not what: variants of one function are one family.
bool is_manner(const std::string& word) {
  static constexpr std::array<std::string_view, 9> kManners{"unlocked", "locked", "unlock", "and", "nolock",
                                                            "internal", "full",   "rcu",    "irq"};
  return std::find(kManners.begin(), kManners.end(), word) != kManners.end();
}

/// Other words of the name that make a weak verb strong: kref_get, conn_refcount_inc.
bool speaks_of_references(const Words& subject) {
  static constexpr std::array<std::string_view, 7> kWords{"ref",  "refs",       "refcnt",   "refcount",
                                                          "kref", "references", "reference"};
  return std::any_of(subject.begin(), subject.end(), [](const std::string& word) {
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  });
}

bool speaks_of_weak_references(const Words& subject) {
  return std::find(subject.begin(), subject.end(), "weak") != subject.end();
}

class Pairing {
 public:
  explicit Pairing(const std::vector<std::string>& names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      words_.push_back(split_name(names[i]));
      by_key_[key(texts(words_[i]))].push_back(i);
    }
  }

  std::vector<NamePair> pairs() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (const Verb& verb : kVerbs) try_verb(i, verb);
    }
    return std::move(pairs_);
  }

 private:
  /// Variants share a key: ref_unlocked pairs with unref_and_unlock.
  static std::string key(Words words) {
    words.erase(std::remove_if(words.begin(), words.end(), is_manner), words.end());
    return join(words, " ");
  }

  void try_verb(std::size_t get, const Verb& verb) {
    const Words words = texts(words_[get]);
    const Words verb_words = split(verb.get, ' ');
    for (std::size_t at = 0; at + verb_words.size() <= words.size(); ++at) {
      if (!std::equal(verb_words.begin(), verb_words.end(), words.begin() + static_cast<long>(at))) continue;
      if (verb.certainty != Certainty::sure && !at_an_end(get, at, verb_words.size())) continue;
      for (const std::string& put : split(verb.puts, '|')) {
        try_put(get, at, verb_words.size(), split(put, ' '), verb.certainty);
      }
    }
  }

  /// get_device and device_get, but not device_get_name: among other words a common verb has another object.
  [[nodiscard]] bool at_an_end(std::size_t name, std::size_t at, std::size_t length) const {
    const auto& words = words_[name];
    const std::size_t scope = names_[name].rfind("::");
    const auto outside = [&](const Word& word) { return scope != std::string::npos && word.begin < scope; };
    const auto verb = words.begin() + static_cast<long>(at);
    const bool first = std::all_of(words.begin(), verb, outside) && !outside(*verb);
    const bool last = std::all_of(verb + static_cast<long>(length), words.end(),
                                  [](const Word& word) { return is_manner(word.text); });
    return first || last;
  }

  void try_put(std::size_t get, std::size_t at, std::size_t length, const Words& put, Certainty certainty) {
    Words wanted = texts(words_[get]);
    const auto first = wanted.begin() + static_cast<long>(at);
    wanted.insert(wanted.erase(first, first + static_cast<long>(length)), put.begin(), put.end());
    const auto found = by_key_.find(key(wanted));
    if (found == by_key_.end()) return;
    for (const std::size_t candidate : found->second) {
      if (candidate == get || known(get, candidate)) continue;
      NamePair pair{get, candidate, certainty, subject(get, at, length), spelling(get, at, length)};
      if (speaks_of_weak_references(pair.subject)) continue;
      if (certainty == Certainty::likely && speaks_of_references(pair.subject))
        pair.certainty = Certainty::sure;
      pairs_.push_back(std::move(pair));
    }
  }

  [[nodiscard]] bool known(std::size_t get, std::size_t put) const {
    return std::any_of(pairs_.rbegin(), pairs_.rend(),
                       [&](const NamePair& pair) { return pair.get == get && pair.put == put; });
  }

  [[nodiscard]] Words subject(std::size_t name, std::size_t at, std::size_t length) const {
    Words rest;
    for (std::size_t i = 0; i < words_[name].size(); ++i) {
      const std::string& word = words_[name][i].text;
      if ((i < at || i >= at + length) && !is_manner(word)) rest.push_back(word);
    }
    return rest;
  }

  /// The name without the verb's words and the manner, with its own separators: "libusb_ref_device" ->
  /// "libusb_device".
  [[nodiscard]] std::string spelling(std::size_t name, std::size_t at, std::size_t length) const {
    const auto& words = words_[name];
    std::string result;
    std::size_t last = words.size();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if ((i >= at && i < at + length) || is_manner(words[i].text)) continue;
      if (last < words.size()) {
        const std::size_t from = words[i - 1].end;
        result += names_[name].substr(from, words[i].begin - from);
      }
      result += names_[name].substr(words[i].begin, words[i].end - words[i].begin);
      last = i;
    }
    return result;
  }

  const std::vector<std::string>& names_;
  std::vector<std::vector<Word>> words_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_key_;
  std::vector<NamePair> pairs_;
};

bool is_creation(const std::string& word) {
  return word.starts_with("new") || word.starts_with("create") || word.starts_with("alloc") || word == "make";
}

}  // namespace

std::string without_struct(std::string_view type) {
  for (const std::string_view word : {"struct ", "class ", "union "}) {
    if (type.starts_with(word)) type.remove_prefix(word.size());
  }
  return std::string(type);
}

bool is_count_of_references(std::string_view member) {
  static constexpr std::array<std::string_view, 4> kWords{"nref", "nrefs", "rc", "usecount"};
  const Words words = name_words(member);
  static const Words kUseCount{"use", "count"};
  if (std::search(words.begin(), words.end(), kUseCount.begin(), kUseCount.end()) != words.end()) return true;
  return speaks_of_references(words) || std::any_of(words.begin(), words.end(), [](const std::string& word) {
           return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
         });
}

std::vector<std::string> name_words(std::string_view name) { return texts(split_name(name)); }

std::vector<NamePair> pair_names(const std::vector<std::string>& names) { return Pairing(names).pairs(); }

bool is_conditional_get(const std::vector<std::string>& get, const std::vector<std::string>& words) {
  static const std::array<Words, 6> kConditions{
      Words{"unless", "zero"}, Words{"not", "zero"}, Words{"if", "not", "zero"}, Words{"try"},
      Words{"maybe"},          Words{"live"}};
  for (const Words& condition : kConditions) {
    const auto at = std::search(words.begin(), words.end(), condition.begin(), condition.end());
    if (at == words.end()) continue;
    Words rest(words.begin(), at);
    rest.insert(rest.end(), at + static_cast<long>(condition.size()), words.end());
    if (rest == get) return true;
  }
  return std::find(words.begin(), words.end(), "tryget") != words.end() && words.size() == get.size() &&
         std::equal(words.begin(), words.end(), get.begin(),
                    [](const std::string& a, const std::string& b) { return a == b || a == "tryget"; });
}

bool is_constructor(const std::vector<std::string>& subject, const std::vector<std::string>& words) {
  if (subject.empty()) return false;
  if (starts_with(words, subject) && words.size() > subject.size()) return is_creation(words[subject.size()]);
  if (words.size() != subject.size() + 1) return false;
  // "libusb_new_device", "new_conn": one creating word among the subject's.
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_creation(words[i])) continue;
    Words rest = words;
    rest.erase(rest.begin() + static_cast<long>(i));
    if (rest == subject) return true;
  }
  return false;
}

bool is_initialiser(const std::vector<std::string>& subject, const std::vector<std::string>& words) {
  return !subject.empty() && starts_with(words, subject) && words.size() > subject.size() &&
         words[subject.size()] == "init";
}

}  // namespace refhist
