#include "reports/finding_list.h"

namespace refhist {

void FindingList::add_object(Kind& kind, ObjectId object) {
  if (kind.objects.insert(object).second) all_[kind.place].alike.push_back(object);
}

bool FindingList::add_alike(const std::string& fingerprint, ObjectId object) {
  const auto known = kinds_.find(fingerprint);
  if (known == kinds_.end()) return false;
  add_object(known->second, object);
  return true;
}

void FindingList::add(ReportedFinding finding) {
  std::vector<ObjectId> objects = std::exchange(finding.alike, {});
  if (objects.empty()) objects.push_back(finding.object);
  const auto [kind, fresh] = kinds_.try_emplace(finding.fingerprint, Kind{all_.size(), {}});
  if (fresh) all_.push_back(std::move(finding));
  for (const ObjectId object : objects) add_object(kind->second, object);
}

}  // namespace refhist
