#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/printable.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "discover/discover.h"
#include "families/family_file.h"
#include "session/long_work.h"
#include "sites/inlined_facts.h"

namespace refhist {

namespace {

std::vector<std::shared_ptr<const Module>> modules_to_search(CommandContext& context) {
  if (!context.state.alive) context.state.modules.update(context.port);
  std::vector<std::shared_ptr<const Module>> modules;
  for (const LoadedModule* module : context.state.modules.loaded()) modules.push_back(module->module);
  if (modules.empty()) fail("no program is loaded: give the debugger a file or attach to a process first");
  return modules;
}

std::string proposals_json(const std::vector<Proposal>& proposals) {
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const Proposal& proposal : proposals) {
    nlohmann::ordered_json probes = nlohmann::ordered_json::array();
    for (const ProbeSpec& probe : proposal.family.probes) {
      probes.push_back({{"role", role_name(probe.role)},
                        {"function", probe.function},
                        {"object", to_string(probe.object)}});
    }
    families.push_back({{"name", proposal.family.name},
                        {"module", proposal.module},
                        {"why", proposal.why},
                        {"probes", std::move(probes)},
                        {"toml", to_toml(proposal.family)}});
  }
  const nlohmann::ordered_json json{{"schema", "refhist/1"}, {"proposals", std::move(families)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Where the debug information knows the counter's member, its name is told beside its offset.
void name_counters(const std::vector<std::shared_ptr<const Module>>& modules,
                   std::vector<Proposal>& proposals) {
  for (Proposal& proposal : proposals) {
    CounterSpec& counter = proposal.family.counter;
    if (counter.type.empty() || !counter.path.empty() || !counter.offset) continue;
    const auto module = std::find_if(modules.begin(), modules.end(),
                                     [&](const auto& one) { return one->path() == proposal.module; });
    if (module != modules.end())
      counter.path = (*module)->member_at(counter.type, *counter.offset).plain_path();
  }
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

/// One with names that TOML cannot hold is a comment: the others of the file can be read.
std::string as_toml(const Family& family) {
  const std::string text = to_toml(family);
  if (is_utf8(text)) return text;
  return "# its names are not UTF-8, so TOML cannot express them\n"
         "# " +
         replace_all(std::string(trim(text)), "\n", "\n# ") + "\n";
}

std::string as_toml(const std::vector<Proposal>& proposals) {
  std::string text = "schema = 1\n";
  std::string module;
  for (const Proposal& proposal : proposals) {
    if (proposal.module != module) text += fmt::format("\n# {}\n", one_line(proposal.module));
    module = proposal.module;
    text += fmt::format("\n# {}\n{}", one_line(proposal.why), as_toml(proposal.family));
  }
  return text;
}

/// Those that cannot be followed are told, and the others are.
void track_all(CommandContext& context, std::vector<Proposal>& proposals) {
  for (Proposal& proposal : proposals) {
    try {
      context.text += tracked_text(context, context.tracker.track(context.port, std::move(proposal.family)));
    } catch (const Error& error) {
      context.text += fmt::format("  not tracked: {}\n", error.what());
    }
  }
}

void save(CommandContext& context, const std::vector<Proposal>& proposals) {
  const std::string path = user_path(context.arguments.value("--save"));
  if (proposals.empty()) fail("no family was found: {} was not written", path);
  replace_file(path, printable(as_toml(proposals)));
  context.text += fmt::format("{} written to {}: refhist track --probes {}\n",
                              plural(proposals.size(), "family"), path, context.arguments.value("--save"));
}

}  // namespace

void run_discover(CommandContext& context) {
  context.arguments.expect_words(1, "discover");
  DiscoverOptions options;
  if (!context.arguments.words().empty()) options.pattern = context.arguments.words().front();
  bool interrupted = false;
  LongWork work(context.port, context.state.telling(), LongWork::For::command);
  options.progress = [&](std::string_view module) {
    return !(interrupted = !work.go_on([&] { return fmt::format("searching {}", module); }));
  };
  const Interruption listening(
      [&](const Interruption::Text& doing) { return !(interrupted = !work.go_on(doing)); });
  options.copies = facts_of_copies;
  const auto modules = modules_to_search(context);
  std::vector<Proposal> proposals = discover(modules, options);
  name_counters(modules, proposals);
  if (context.arguments.has("--json")) {
    context.text = proposals_json(proposals);
    return;
  }
  const bool saves = context.arguments.has("--save");
  const bool tracks = context.arguments.has("--track");
  if (saves) save(context, proposals);
  if (!saves && !tracks && !proposals.empty()) context.text = as_toml(proposals) + "\n";
  if (!saves)
    context.text += fmt::format("# {} found{}\n", plural(proposals.size(), "family"),
                                interrupted ? "; interrupted, not every module was searched" : "");
  if (tracks) track_all(context, proposals);
  if (context.port.process().pid == 0)
    context.text +=
        "# only the program itself was searched: its libraries are loaded when it runs (start, then "
        "discover)\n";
}

}  // namespace refhist
