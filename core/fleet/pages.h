// The answers of Questions as pages: plain HTML that works without scripts.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace refhist {

/// What stands behind the ? of an address, by name.
using PageQuery = std::map<std::string, std::string>;

std::string findings_page(const nlohmann::ordered_json& answer, const PageQuery& query);
std::string finding_page(const nlohmann::ordered_json& shown, const nlohmann::ordered_json& since);
std::string growth_page(const nlohmann::ordered_json& answer);
std::string runs_page(const nlohmann::ordered_json& answer, const PageQuery& query);
std::string error_page(const std::string& project, const std::string& what);

/// The style and the script, which the pages name.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace refhist
