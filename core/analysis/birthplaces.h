// Where objects were born, in words: the same words for the same place.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/frame_namer.h"
#include "history/history.h"
#include "sites/site_table.h"

namespace refhist {

struct Birthplace {
  std::size_t number = 0;  ///< of the places that were asked for, from 0
  FamilyId family;
  std::string by;    ///< the function that made it; empty when the birth was not seen
  NamedFrame frame;  ///< who called that

  /// "born in open_conn (a.c:3) by conn_new", "born before it was first seen"
  [[nodiscard]] std::string text() const;
};

class Birthplaces {
 public:
  Birthplaces(const History& history, const SiteTable& sites, FrameNamer& namer)
      : history_(history), sites_(sites), namer_(namer) {}

  /// Valid as long as this object. Equal places are the same one.
  const Birthplace& of(const Object& object);
  /// The place equal to this one.
  const Birthplace& same(Birthplace place);

 private:
  const History& history_;
  const SiteTable& sites_;
  FrameNamer& namer_;
  std::unordered_map<std::uint64_t, const Birthplace*> known_;  // by family and origin of the birth
  std::map<std::pair<FamilyId, std::string>, Birthplace> places_;
};

}  // namespace refhist
