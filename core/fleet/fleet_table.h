// The verbs of `refhist fleet` and `refhist send`: their words, options and help.
#pragma once

#include <string>
#include <vector>

#include "commands/command.h"

namespace refhist {

struct FleetVerb {
  std::string verb;     ///< "findings"; "send" is `refhist send`
  std::string usage;    ///< what follows it
  std::string summary;  ///< one line
  std::vector<OptionSpec> options;
};

const std::vector<FleetVerb>& fleet_verbs();
/// Throws Error when it takes more or fewer words than these.
void expect_words_of(const FleetVerb& verb, const std::vector<std::string>& words);
/// Throws Error with the nearest.
const FleetVerb& find_fleet_verb(const std::string& verb);
std::string fleet_help();
/// Every verb with its options: what the man page is made of.
std::string all_fleet_help();
std::string fleet_help(const FleetVerb& verb);

}  // namespace refhist
