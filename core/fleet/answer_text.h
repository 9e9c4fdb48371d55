// The answers of Questions as people read them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace refhist {

std::string findings_text(const nlohmann::ordered_json& answer);
std::string show_text(const nlohmann::ordered_json& answer);
std::string since_text(const nlohmann::ordered_json& answer);
std::string growth_text(const nlohmann::ordered_json& answer);
std::string runs_text(const nlohmann::ordered_json& answer);
std::string compare_text(const nlohmann::ordered_json& answer);

/// "2026-11-28 09:40" of a time as PostgreSQL writes it, in UTC.
std::string short_time(const std::string& time);
/// What a commit is shown as: 12 digits, as git does; "(no commit)" when it is not known.
std::string short_commit(const std::string& commit);
/// One block character for each value, from nothing to the greatest.
std::string sparkline(const std::vector<double>& values);

}  // namespace refhist
