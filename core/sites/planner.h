// Finds the functions of the tracked families in a module and says at which addresses to arm them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "sites/site.h"
#include "symbols/module_map.h"

namespace refhist {

/// Sites of one family in one module: one for each function address, plus the copies that cannot be
/// armed (inlined copies, clones) with the reason. Nothing is armed here.
std::vector<Site> plan_sites(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
                             const LoadedModule& module);

/// Where the counter is, by debug information of any of the modules or by the family's offset; nothing
/// when neither is known. Throws Error when the type is known and has no such member.
std::optional<MemberPlace> place_counter(const Family& family,
                                         const std::vector<const LoadedModule*>& modules);

/// By the debug information of the first of the modules that knows the type; nothing when none does, or the
/// type has no such member.
std::optional<MemberPlace> member_place(const std::vector<const LoadedModule*>& modules,
                                        const std::string& type, const std::string& path);

/// By the globs of the family's `modules`.
bool wants_module(const Family& family, const Module& module);

/// sizeof of the family's type where debug information tells it; 0 when unknown.
std::uint64_t object_size(const Family& family, const std::vector<const LoadedModule*>& modules);

/// The functions of the module that the pattern matches.
std::vector<FunctionSymbol> matching_functions(const Module& module, const std::string& pattern);
/// Some copy of a function that the pattern matches was inlined here.
bool inlines_function(const Module& module, const std::string& pattern);
/// True when a function of the module matches the pattern.
bool defines_function(const Module& module, const std::string& pattern);

/// Names of functions in the modules, for suggestions (display names, sorted, each once).
std::vector<std::string> function_names(const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
