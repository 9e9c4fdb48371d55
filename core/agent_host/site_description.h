// What a site is for the agent.
#pragma once

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

/// It gives back memory of the C library's malloc, and nothing tells its size beside the block's header.
bool frees_malloc_blocks(const Site& site, const TrackedFamily& tracked, const ModuleMap& modules);

/// It is a function of the C library's malloc that gives a block.
bool gives_malloc_blocks(const Site& site, const TrackedFamily& tracked, const ModuleMap& modules);

/// It gives a block of GLib's GSlice, and no such block was given before the family was followed.
bool gives_slices(const Site& site, const TrackedFamily& tracked);

/// Where the module of that name, up to a dot, has the function; 0 when there is none.
Address exported_by(const ModuleMap& modules, std::string_view module, std::string_view function);

}  // namespace refhist
