#include "reports/verdict_list.h"

#include "base/error.h"
#include "base/text.h"

namespace refhist {

std::vector<Verdict> verdicts_of(const std::string& list) {
  std::vector<Verdict> verdicts;
  if (trim(list) == "none") return verdicts;
  for (const std::string& part : split(list, ',')) {
    const std::string word(trim(part));
    if (word == "imbalance") {
      verdicts.insert(verdicts.end(), {Verdict::over_put, Verdict::use_after_free, Verdict::resurrection,
                                       Verdict::free_while_referenced, Verdict::second_owner});
    } else if (const auto verdict = verdict_from_name(word)) {
      verdicts.push_back(*verdict);
    } else {
      std::vector<std::string> names = verdict_names();
      names.insert(names.end(), {"imbalance", "none"});
      fail("unknown verdict {}{}: it must be one of {}", word.empty() ? "(empty)" : word,
           suggestion(word, names), join(names, ", "));
    }
  }
  return verdicts;
}

std::vector<Verdict> all_verdicts() {
  std::vector<Verdict> verdicts;
  for (const std::string& name : verdict_names()) verdicts.push_back(*verdict_from_name(name));
  return verdicts;
}

}  // namespace refhist
