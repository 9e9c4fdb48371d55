#include "sites/site_table.h"

#include <algorithm>
#include <utility>

namespace refhist {

SiteId SiteTable::add(Site site) {
  const SiteId id(sites_.size());
  sites_.push_back(std::move(site));
  return id;
}

SiteId SiteTable::at(Address address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? SiteId() : found->second;
}

const Site& SiteTable::armed_by(const Site& site) const {
  return site.colocated_with.valid() ? get(site.colocated_with) : site;
}

void SiteTable::set_armed(SiteId id, bool armed, std::string why_not) {
  Site& site = sites_[id.index()];
  site.armed = armed;
  site.why_not = std::move(why_not);
  site.colocated_with = SiteId();
  if (armed) {
    by_address_[site.address] = id;
  } else if (at(site.address) == id) {
    by_address_.erase(site.address);
  }
}

void SiteTable::colocate(SiteId leader, SiteId other) {
  std::vector<SiteId>& colocated = sites_[leader.index()].colocated;
  if (std::find(colocated.begin(), colocated.end(), other) == colocated.end()) colocated.push_back(other);
  Site& site = sites_[other.index()];
  site.colocated_with = leader;
  site.armed = true;
  site.why_not.clear();
}

void SiteTable::drop_riders_of(FamilyId family) {
  for (Site& site : sites_) {
    std::erase_if(site.colocated, [&](SiteId other) { return sites_[other.index()].family == family; });
  }
}

void SiteTable::disarm_all() {
  for (Site& site : sites_) {
    site.armed = false;
    site.colocated.clear();
  }
  by_address_.clear();
}

void SiteTable::retire_all() {
  disarm_all();
  for (Site& site : sites_) site.current = false;
}

void SiteTable::unload(ModuleId module) {
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    Site& site = sites_[i];
    if (site.module != module || !site.current) continue;
    set_armed(SiteId(i), false, "its module was unloaded");
    site.unloaded = true;
    site.colocated.clear();
  }
}

}  // namespace refhist
