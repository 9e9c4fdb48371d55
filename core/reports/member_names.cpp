#include "reports/member_names.h"

#include <algorithm>
#include <vector>

namespace refhist {

namespace {

std::string own_members(const std::string& path) {
  std::string own;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string member = path.substr(begin, end - begin);
    if (member.rfind("_M_", 0) == 0 || member.rfind("__", 0) == 0) break;
    own += (own.empty() ? "" : ".") + member;
    begin = end + 1;
  }
  return own;
}

}  // namespace

std::string TypedObject::short_type() const {
  const std::size_t arguments = std::min(type.find('<'), type.size());
  const std::size_t scope = type.rfind("::", arguments);
  return scope == std::string::npos ? type : type.substr(scope + 2);
}

TypedObject typed_object(SessionState& state, ObjectId id, Address begin, Address at) {
  std::vector<ObjectId> managing = state.managed.managing(begin);
  if (id.valid()) managing.push_back(id);
  for (const ObjectId one : managing) {
    const auto managed = state.managed.of(one);
    if (managed && managed->address != 0 && at >= managed->address) return {managed->address, managed->type};
  }
  if (!id.valid()) return {};
  const Object& object = state.history.object(id);
  const Family& family = state.families[object.family.index()].family;
  if (!family.managed.empty() || at < object.address) return {};
  return {object.address, family.counter.type};
}

// The program may have ended: its files still say it.
std::string member_at(const SessionState& state, const TypedObject& object, Address at) {
  if (object.type.empty()) return {};
  for (const std::vector<const LoadedModule*>& modules : {state.modules.loaded(), state.modules.all()}) {
    for (const LoadedModule* module : modules) {
      const std::string path = module->module->code().member_at(object.type, at - object.begin).path;
      if (!path.empty()) return own_members(path);
    }
  }
  return {};
}

}  // namespace refhist
