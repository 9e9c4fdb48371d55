#include "families/family_catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/folder_entries.h"
#include "base/text.h"
#include "families/family_file.h"

namespace refhist {
namespace {

std::vector<std::filesystem::path> toml_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : entries_of(folder)) {
    if (path.extension() == ".toml") files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

FamilyCatalog::FamilyCatalog(const std::string& folder) {
  std::map<std::string, std::string> seen;
  for (const auto& file : toml_files(folder)) {
    for (Family& family : read_family_file(file.string())) {
      const auto [first, fresh] = seen.emplace(family.name, family.origin);
      if (!fresh) {
        fail("{}: family '{}' is already in {}; give one of them another name", family.origin, family.name,
             first->second);
      }
      groups_.push_back(file.stem().string());
      family.born_given = true;  // whoever ships it knows
      families_.push_back(std::move(family));
    }
  }
}

std::vector<Family> FamilyCatalog::find(std::string_view word) const {
  std::vector<Family> found;
  const auto collect = [&](auto&& wanted) {
    for (std::size_t i = 0; i < families_.size(); ++i) {
      if (wanted(i)) found.push_back(families_[i]);
    }
    return !found.empty();
  };
  if (collect([&](std::size_t i) { return families_[i].name == word; })) return found;
  const auto derive = [&](const Family& family) {
    return std::find(family.also_of.begin(), family.also_of.end(), word) != family.also_of.end();
  };
  if (collect([&](std::size_t i) { return groups_[i] == word || derive(families_[i]); })) return found;
  if (is_glob(word) && collect([&](std::size_t i) { return glob_match(word, families_[i].name); })) {
    return found;
  }
  fail("no family is named '{}'{}; `refhist track --get FN --put FN` tracks functions of your own", word,
       suggestion(word, names()));
}

std::vector<std::string> FamilyCatalog::names() const {
  std::vector<std::string> all = groups_;
  for (const Family& family : families_) all.push_back(family.name);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string FamilyCatalog::listing() const {
  std::size_t width = 0;
  for (const Family& family : families_) width = std::max(width, family.name.size());
  std::string text;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (i == 0 || groups_[i] != groups_[i - 1]) text += fmt::format("{}{}\n", i == 0 ? "" : "\n", groups_[i]);
    text += fmt::format("  {:<{}}  {}\n", families_[i].name, width, families_[i].description);
  }
  return text;
}

}  // namespace refhist
