// What a site is for the agent.
#pragma once

#include <optional>
#include <string_view>

#include "agent/agent_abi.h"
#include "agent_host/agent_watch.h"
#include "sites/site.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"

namespace refhist {

/// All but what depends on the stub.
agent::Site describe_site(const Site& site, SiteId id, const TrackedFamily& tracked, const AgentWatch& watch);

/// Can the agent tell how large the memory is that the site's function gives back? True as well for functions
/// that give none back.
bool frees_known_blocks(const Site& site, const TrackedFamily& tracked, const ModuleMap& modules);

/// What it does with blocks of the C library's malloc, or of GSlice from its first slice on.
std::optional<agent::HeapCall> heap_call(const Site& site, const TrackedFamily& tracked,
                                         const ModuleMap& modules);

/// Where the module of that name, up to a dot, has the function; 0 when there is none.
Address exported_by(const ModuleMap& modules, std::string_view module, std::string_view function);

}  // namespace refhist
