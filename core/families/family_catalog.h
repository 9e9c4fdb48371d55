// The families that are shipped, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"

namespace refhist {

class FamilyCatalog {
 public:
  /// Reads every *.toml of the folder. A folder that is not there is an empty catalog; a broken file is an
  /// Error.
  explicit FamilyCatalog(const std::string& folder);

  /// Families named `word`: a family ("GObject"), a file without its ending ("glib": all its families, and
  /// those that theirs derive from), or a glob of families ("g*"). Throws Error with the nearest name.
  [[nodiscard]] std::vector<Family> find(std::string_view word) const;
  [[nodiscard]] std::vector<std::string> names() const;  ///< families and files, sorted
  [[nodiscard]] const std::vector<Family>& families() const { return families_; }
  /// All of them for people: each file's name, and below it a family a line.
  [[nodiscard]] std::string listing() const;

 private:
  std::vector<Family> families_;
  std::vector<std::string> groups_;  ///< in step with families_: file without ending
};

}  // namespace refhist
