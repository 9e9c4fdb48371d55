// What the verbs of fleet_table do. Each returns an exit status.
#pragma once

#include "commands/command.h"

namespace refhist {

/// Everything but send and serve. Throws Error.
int run_fleet_verb(const std::string& verb, const Arguments& arguments);
int run_send(const Arguments& arguments);

/// For refhist-run: sends one record of the spool, and what waits there; prints what is to be told.
int run_deliver(const std::string& target, const std::string& record);
/// For refhist-run: prints those fingerprints of the standard input that the branch has.
int run_known(const std::string& target, const std::string& project, const std::string& branch);

/// --database, or what the environment says; empty: what libpq finds.
std::string fleet_target(const Arguments& arguments);
/// --project, or what the environment says.
std::string fleet_project(const Arguments& arguments);

inline constexpr int kFleetSeconds = 10;  ///< that a question or a send may wait for the database

}  // namespace refhist
