#include "sites/site_table.h"

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

void SiteTable::set_armed(SiteId id, bool armed, std::string why_not) {
  Site& site = sites_[id.index()];
  site.armed = armed;
  site.why_not = std::move(why_not);
  if (armed) {
    by_address_[site.address] = id;
  } else if (at(site.address) == id) {
    by_address_.erase(site.address);
  }
}

void SiteTable::disarm_all() {
  for (Site& site : sites_) site.armed = false;
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
  }
}

}  // namespace refhist
