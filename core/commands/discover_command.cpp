#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/long_work.h"
#include "probes/discover.h"
#include "probes/family_file.h"
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
  return json.dump(2) + "\n";
}

}  // namespace

void run_discover(CommandContext& context) {
  context.arguments.expect_words(1, "discover");
  DiscoverOptions options;
  if (!context.arguments.words().empty()) options.pattern = context.arguments.words().front();
  bool interrupted = false;
  LongWork work(context.port, context.state.tell_every_step, LongWork::For::command);
  options.progress = [&](std::string_view module) {
    return !(interrupted = !work.go_on([&] { return fmt::format("looking into {}", module); }));
  };
  const Interruption listening(
      [&](const Interruption::Text& doing) { return !(interrupted = !work.go_on(doing)); });
  options.copies = facts_of_copies;
  const std::vector<Proposal> proposals = discover(modules_to_search(context), options);
  if (context.arguments.has("--json")) {
    context.text = proposals_json(proposals);
    return;
  }
  if (!proposals.empty()) context.text = "schema = 1\n";
  std::string module;
  for (const Proposal& proposal : proposals) {
    if (proposal.module != module) context.text += fmt::format("\n# {}\n", proposal.module);
    module = proposal.module;
    context.text += fmt::format("\n# {}\n{}", proposal.why, to_toml(proposal.family));
  }
  context.text +=
      fmt::format("{}# {} found{}\n", proposals.empty() ? "" : "\n", plural(proposals.size(), "family"),
                  interrupted ? "; interrupted, not every module was searched" : "");
}

}  // namespace refhist
