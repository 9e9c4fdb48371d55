// refhist-fleet: the part of refhist that talks to PostgreSQL. A program of its own, so that everything else
// needs no libpq.
#pragma once

#include <string>
#include <vector>

namespace refhist {

/// Environment variable that names the database for refhist-fleet: an address may be long and is nobody's
/// business.
inline constexpr const char* kTargetVariable = "REFHIST_SEND";

/// Its path. Throws Error with the package to install: it, or libpq, is not there.
std::string find_fleet_program();

struct FleetAnswer {
  int status = 0;        ///< exit status; 128 + N: ended by signal N
  std::string text;      ///< standard output
  std::string messages;  ///< standard error
  bool in_time = true;   ///< false: it was killed
};

/// Runs it for at most that long. `target`: the database; `input`: its standard input. Throws Error.
FleetAnswer ask_fleet_program(const std::vector<std::string>& words, const std::string& target,
                              const std::string& input, double seconds);

/// Becomes refhist-fleet with these words. Throws Error.
[[noreturn]] void become_fleet_program(const std::vector<std::string>& words);

}  // namespace refhist
