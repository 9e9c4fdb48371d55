#include "analysis/reference_pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace refhist {

namespace {

constexpr int kRounds = 3;
constexpr double kUnseen = 0.05;     // of functions that were never seen together
constexpr double kAlike = 0.7;       // conn_open and conn_close: decides where nothing was learned
constexpr double kSameFunction = 1;  // whoever takes a reference, or is handed it, mostly gives it back
constexpr double kElsewhere = 0.1;   // objects of the family that were born at other places count less

int sum(const ReferencePairs::Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0,
                         [](int all, const auto& entry) { return all + entry.second; });
}

double times(const std::map<std::string, double>& counts, const std::string& function) {
  const auto found = counts.find(function);
  return found == counts.end() ? 0 : found->second;
}

/// "conn" and "table" of "conn_table_open", "Conn::TableOpen"; not what every function does.
std::set<std::string> subjects(const std::string& function) {
  static const std::set<std::string> kVerbs{
      "new",     "free",    "ref",   "unref",  "get",   "put",  "create", "destroy", "init",  "fini",
      "open",    "close",   "add",   "remove", "start", "stop", "alloc",  "make",    "clear", "delete",
      "release", "acquire", "begin", "finish", "end",   "on",   "do",     "the"};
  std::set<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.size() > 1 && !kVerbs.contains(word)) words.insert(word);
    word.clear();
  };
  char before = 0;
  for (const char c : function.substr(0, function.find('('))) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool letter = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter || (upper && before >= 'a' && before <= 'z')) end_word();
    if (letter) word += upper ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  end_word();
  return words;
}

}  // namespace

void ReferencePairs::Model::add(const Pair& pair, double count) {
  pairs[pair] += count;
  taken[pair.first] += count;
  given_back[pair.second] += count;
}

double ReferencePairs::likeness(const Pair& pair) {
  const auto [known, added] = likeness_.try_emplace(pair);
  if (!added) return known->second;
  const std::set<std::string> a = subjects(pair.first);
  const std::set<std::string> b = subjects(pair.second);
  const auto common =
      std::count_if(a.begin(), a.end(), [&](const std::string& word) { return b.contains(word); });
  if (common != 0)
    known->second = static_cast<double>(common) / static_cast<double>(std::max(a.size(), b.size()));
  return known->second;
}

double ReferencePairs::prior(const Pair& pair) {
  const bool same = pair.first == pair.second || owners_.hands_to(pair.first, pair.second);
  return same ? kSameFunction : kAlike * likeness(pair);
}

// Of either function, how much of what it does it does with the other one.
double ReferencePairs::score(const Model& model, const Pair& pair) {
  const auto known = model.pairs.find(pair);
  const double together = (known == model.pairs.end() ? 0 : known->second) + kUnseen;
  return std::log(together / (times(model.taken, pair.first) + 1)) +
         std::log(together / (times(model.given_back, pair.second) + 1)) + prior(pair);
}

template <class Use>
void ReferencePairs::match(const Model& model, Counts& taken, Counts& given_back, Use&& use) {
  std::vector<Match> all;
  for (const auto& [get, gets] : taken) {
    for (const auto& [put, puts] : given_back) all.push_back({{get, put}, score(model, {get, put})});
  }
  std::stable_sort(all.begin(), all.end(), [](const Match& a, const Match& b) { return a.score > b.score; });
  for (const Match& match : all) {
    int& gets = taken[match.pair.first];
    int& puts = given_back[match.pair.second];
    const int both = std::min(gets, puts);
    if (both == 0) continue;
    gets -= both;
    puts -= both;
    use(match.pair, both);
  }
  std::erase_if(taken, [](const auto& entry) { return entry.second == 0; });
  std::erase_if(given_back, [](const auto& entry) { return entry.second == 0; });
}

// Nothing is known in the first round: everything belongs together as often as it occurs together, but for
// what one function both takes and gives back.
ReferencePairs::Model ReferencePairs::learn(const std::vector<Kind>& kinds, std::size_t birthplace,
                                            const Model* before) {
  Model model;
  for (const Kind& kind : kinds) {
    Counts taken = kind.taken;
    Counts given_back = kind.given_back;
    const double objects =
        static_cast<double>(kind.objects) * (kind.birthplace == birthplace ? 1 : kElsewhere);
    const int all = sum(taken);
    if (all == 0 || all != sum(given_back)) continue;
    if (before != nullptr) {
      match(*before, taken, given_back, [&](const Pair& pair, int both) { model.add(pair, both * objects); });
      continue;
    }
    for (const auto& [get, gets] : taken) {
      for (const auto& [put, puts] : given_back)
        model.add({get, put}, objects * gets * puts / all * (1 + prior({get, put})));
    }
  }
  return model;
}

const std::vector<ReferencePairs::Kind>& ReferencePairs::kinds_of(FamilyId family) {
  const auto [entry, added] = kinds_.try_emplace(family);
  if (added) entry->second = kinds_of_(family);
  return entry->second;
}

const ReferencePairs::Model& ReferencePairs::model_of(const Subject& subject) {
  const auto [entry, added] = models_.try_emplace(subject);
  if (!added) return entry->second;
  const std::vector<Kind>& kinds = kinds_of(subject.family);
  Model model = learn(kinds, subject.birthplace, nullptr);
  for (int round = 1; round < kRounds; ++round) model = learn(kinds, subject.birthplace, &model);
  return entry->second = std::move(model);
}

ReferencePairs::Unpaired ReferencePairs::unpaired(const Subject& subject, const Counts& taken,
                                                  const Counts& given_back) {
  Unpaired left{taken, given_back};
  match(model_of(subject), left.taken, left.given_back, [](const Pair&, int) {});
  return left;
}

namespace {

template <class Pairs, class Side, class Other>
ReferencePairs::Partners partners(const Pairs& pairs, const std::string& function, Side&& side,
                                  Other&& other) {
  ReferencePairs::Partners found;
  double all = 0;
  for (const auto& [pair, count] : pairs) {
    if (side(pair) != function) continue;
    found.emplace_back(other(pair), count);
    all += count;
  }
  for (auto& partner : found) partner.second /= all;
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

}  // namespace

ReferencePairs::Partners ReferencePairs::partners_of_taken(const Subject& subject,
                                                           const std::string& function) {
  const auto taken = [](const Pair& pair) { return pair.first; };
  const auto given_back = [](const Pair& pair) { return pair.second; };
  return partners(model_of(subject).pairs, function, taken, given_back);
}

ReferencePairs::Partners ReferencePairs::partners_of_put(const Subject& subject,
                                                         const std::string& function) {
  const auto taken = [](const Pair& pair) { return pair.first; };
  const auto given_back = [](const Pair& pair) { return pair.second; };
  return partners(model_of(subject).pairs, function, given_back, taken);
}

}  // namespace refhist
