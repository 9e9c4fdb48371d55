// All sites of the session, by id and by the address where they are armed now.
#pragma once

#include <unordered_map>
#include <vector>

#include "sites/site.h"

namespace refhist {

class SiteTable {
 public:
  SiteId add(Site site);
  Site& get(SiteId id) { return sites_[id.index()]; }
  [[nodiscard]] const Site& get(SiteId id) const { return sites_[id.index()]; }
  /// The site armed at the address; invalid when none is.
  [[nodiscard]] SiteId at(Address address) const;
  /// The site by which this one is armed: itself, or the one that it is_colocated on.
  [[nodiscard]] const Site& armed_by(const Site& site) const;
  [[nodiscard]] const std::vector<Site>& all() const { return sites_; }

  void set_armed(SiteId id, bool armed, std::string why_not = {});
  /// The other is armed by what is armed for the other one, at the same instruction.
  void colocate(SiteId leader, SiteId other);
  /// The family's sites colocate nowhere any more.
  void drop_riders_of(FamilyId family);
  /// The module is gone: its sites stay for the histories that name them, but nothing is armed there.
  void unload(ModuleId module);
  /// The process is gone: nothing is armed, but what was there stays to be shown.
  void disarm_all();
  /// Another process begins: what was there before is only named by histories.
  void retire_all();
  [[nodiscard]] std::size_t armed_count() const { return by_address_.size(); }

 private:
  std::vector<Site> sites_;
  std::unordered_map<Address, SiteId> by_address_;
};

}  // namespace refhist
