#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"

namespace refhist {

namespace {

const OptionSpec kJson{"--json", "", "print JSON (schema refhist/1) instead of text"};

std::vector<OptionSpec> rule_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> options{
      {"--family", "GLOB", "only objects of these families; may be given again"},
      {"--object", "ADDR|EXPR", "only the object at this address"},
      {"--after", "FN", "look at the return of this function instead: what happened inside it"},
  };
  options.insert(options.end(), more.begin(), more.end());
  options.push_back(kJson);
  return options;
}

std::vector<OptionSpec> check_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> options{
      {"--fail-on", "LIST", "verdicts that make the check fail, separated by commas; none"},
      {"--family", "GLOB", "only these families"},
      {"--reachable", "", "reachable objects are leaks as well"},
      {"--suppressions", "FILE", "lines VERDICT:PATTERN, as LeakSanitizer has them: what is not to be told"},
      {"--baseline", "FILE", "findings that were accepted: only new ones fail the check"},
      {"--update-baseline", "", "accept what is found now"},
  };
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

const char* const kRuleUsage = "[list | delete N | disable N | enable N] [OPTIONS]";

std::vector<Command> track_commands() {
  return {
      {"track",
       "auto | FAMILY... | --get FN --put FN [OPTIONS] | --probes FILE.toml",
       "follow the reference counts of a family",
       "auto: all shipped families, and what discover finds in modules that are not the system's. FAMILY is "
       "a\n"
       "shipped family (json_object), a group of them (glib) or a glob. Functions may be C "
       "names, C++\n"
       "names with or without parameters, or globs. Before run, at a stop, or attached.",
       {{"--probes", "FILE", "families from a TOML file"},
        {"--name", "NAME", "name of the family given by functions (default: their common prefix)"},
        {"--get", "FN", "takes a reference"},
        {"--try-get", "FN", "takes a reference unless it fails (returns 0)"},
        {"--put", "FN", "gives a reference back"},
        {"--init", "FN", "makes an object"},
        {"--alloc", "FN", "obtains the memory of an object"},
        {"--free", "FN", "gives the memory of an object back"},
        {"--object", "ARG",
         "where get, put and free have the object: 1 to 6, *1 to *6, or return (default 1)"},
        {"--count", "MEMBER", "member path of the counter (refs.counter)"},
        {"--type", "TYPE", "type that has the member (default: the argument's)"},
        {"--count-offset", "N", "offset of the counter in bytes, where there is no debug information"},
        {"--count-size", "N", "size of the counter in bytes (default 4)"},
        {"--born", "N", "references that a new object has (default 1)"},
        {"--stacks", "full|none", "none: only count, record no stacks"},
        {"--keep", "all|live|suspect", "whose histories are kept whole (refhist show keep)"},
        {"--memory", "SIZE", "what the history may take (refhist show memory)"},
        {"--exclude", "GLOB", "leave out calls made by this function or module; may be given again"},
        {"--backend", "auto|breakpoint",
         "auto (default): families tracked from now on are recorded inside the program where that is "
         "possible"}},
       run_track},
      {"untrack",
       "FAMILY... | --all",
       "follow a family no longer; what was recorded stays",
       "FAMILY is the name of a tracked family, a shipped group or a glob. Its breakpoints are taken out and "
       "its "
       "name\n"
       "is free again. Objects that live then are never called leaked: what becomes of them is not seen.",
       {{"--all", "", "every tracked family"}},
       run_untrack},
      {"discover",
       "[PATTERN]",
       "find reference-counted types in the loaded modules",
       "Prints them as families in TOML, ready for track --probes.",
       {{"--save", "FILE", "write them into the file"}, {"--track", "", "follow them at once"}, kJson},
       run_discover},
      {"status",
       "",
       "families, sites, rules, events, losses, memory",
       "",
       {{"--sites", "", "every site, also those not armed, with the reason"}, kJson},
       run_status},
      {"start", "", "record again after stop", "", {}, run_start},
      {"stop", "", "take our breakpoints out and record nothing until start", "", {}, run_stop},
      {"reset", "", "forget every object and event; tracking goes on", "", {}, run_reset},
  };
}

std::vector<Command> report_commands() {
  return {
      {"history",
       "ADDR|EXPR",
       "the whole life of the object at this address (the verb may be left out)",
       "Any pointer into the object, a register ($rdi) or an expression of the language will do.",
       {{"--stacks", "[full]", "the stack of every event; full: frames that the family folds as well"},
        {"--generation", "N", "the Nth object that lived at this address"},
        {"--all", "", "every object that lived at this address"},
        {"--at", "N", "the object as it stood when event #N had happened"},
        {"--references", "",
         "each reference from where it was taken to where it was given back, as far as that can be told"},
        {"--events", "N|all",
         "list N events at most, the first and the last ones; those between are counted by place (10000)"},
        kJson},
       run_history},
      {"objects",
       "",
       "live objects",
       "",
       {{"--family", "GLOB", "only these families"}, {"--all", "", "dead ones as well"}, kJson},
       run_objects},
      {"leaks",
       "",
       "outstanding references, grouped by where the object was born, with the suspect put",
       "Objects that the program can still reach are counted, not accused.",
       {{"--family", "GLOB", "only these families"},
        {"--reachable", "", "list reachable objects as well"},
        {"--stacks", "[full]",
         "the stack of every reference that may be the one not given back; full: what the family folds as "
         "well"},
        {"--suppressions", "FILE",
         "lines VERDICT:PATTERN, as LeakSanitizer has them: what is not to be listed"},
        kJson},
       run_leaks},
      {"explain",
       "[ADDR|EXPR|FINGERPRINT]",
       "run the program again, and show the way by which a leaked reference was lost",
       "The second run is in a debugger of its own: this session stays as it is. It follows the call that "
       "should\n"
       "have given the reference back, line by line, and beside it one that did. Without a word: the largest "
       "leaks.\n"
       "A place that both ways show is a confirmed suspect from then on. The program must do the same again.",
       {{"--timeout", "S", "give up after so many seconds (default 120)"}, kJson},
       run_explain},
      {"snapshot",
       "[NAME]",
       "mark this moment of the history, for diff",
       "",
       {{"--list", "", "what was marked"}, kJson},
       run_snapshot},
      {"diff",
       "[FROM [TO]]",
       "objects that live now and did not when the snapshot was taken, by birthplace",
       "FROM and TO are snapshots; without: the last one, and now. With --repeat: what has grown in each of "
       "M "
       "steps\n"
       "from one snapshot to the next, the first N left out.",
       {{"--settle", "N", "snapshots that do not count: the program warms up (default 0)"},
        {"--repeat", "M", "steps that must all have grown"},
        {"--family", "GLOB", "only these families"},
        kJson},
       run_diff},
      {"balance",
       "FAMILY|ADDR|EXPR",
       "where references are taken and given back, as a call tree without what is balanced",
       "Of a family the objects that live.",
       {{"--all", "", "dead objects as well"}, kJson},
       run_balance},
      {"owners",
       "ADDR|EXPR",
       "every word of the program's memory that points at the object or into it",
       "",
       {kJson},
       run_owners},
      {"usage",
       "",
       "objects and bytes by birthplace: live, at the peak, over time",
       "",
       {{"--family", "GLOB", "only these families"}, {"--top", "N", "so many places (default 20)"}, kJson},
       run_usage},
      {"watch",
       "[ADDR|EXPR]",
       "see every instruction that changes an object's counter, with or without a probe",
       "A hardware watchpoint on the counter; up to four objects at a time. Changes that no probe tells of "
       "join "
       "the\n"
       "object's history. Without an object: what is watched.",
       {{"--delete", "", "watch it no longer; without an object: none"}},
       run_watch},
      {"save",
       "FILE",
       "write the history into a file that refhist open reads, with its names, lines and findings",
       "One SQLite file: docs/file-format.md. A file of that name is replaced when the new one is whole.",
       {},
       run_save},
      {"open",
       "FILE",
       "read a saved history: the reports show that one, without a process or beside a core file",
       "",
       {{"--discard", "", "even if a history that was not saved is lost"}},
       run_open},
      {"export", "FILE --format FORMAT", "write the history or its findings for other tools",
       "json: the session with its findings. junit, sarif, html: the findings, with those of check's "
       "options. "
       "folded: "
       "stacks\n"
       "for flame graphs. sqlite: as refhist save does, and each event as a row besides.",
       check_options(
           {{"--format", "FORMAT", "json, junit, sarif, html, folded or sqlite"},
            {"--of", "WHAT", "folded: leaked (default), live (objects by birth) or events"},
            {"--source-root", "DIR",
             "names of source files are relative to it (default: here); of an opened history, sources are "
             "shown from below it only"}}),
       run_export},
      {"check", "", "print the findings and end a script's debugger: 23 findings, 0 clean, 1 it failed",
       "LIST: leak, over-put, use-after-free, resurrection, free-while-referenced, unobserved-change, "
       "undecidable, held;\n"
       "imbalance stands for all but leak, unobserved-change, undecidable and held. Default: leak,imbalance.",
       check_options({{"--stay", "", "print only: the debugger goes on, as it does at a prompt"},
                      {"--quit", "", "end the debugger at a prompt, too"},
                      kJson}),
       run_check},
  };
}

std::vector<Command> rule_commands() {
  return {
      {"break-on-leak", kRuleUsage, "stop at the last moment of the process when objects are leaked",
       "With --after FN: stop when FN returns and objects born inside it still live.",
       rule_options(
           {{"--reachable", "", "objects that are still reachable count as leaked"},
            {"--raw-exit", "",
             "also before an exit system call that does not pass _exit (GDB: a catchpoint; not in LLDB)"}}),
       run_break_on_leak},
      {"break-on-imbalance", kRuleUsage,
       "stop before a put below zero, a get or put on a dead object, a free while referenced",
       "With --after FN: stop when FN returns and its gets and puts do not add up to --expect (default 0).",
       rule_options({{"--expect", "N", "with --after: the net change that is right (default 0)"}}),
       run_break_on_imbalance},
      {"break-on-put-to-zero", kRuleUsage, "stop before the put that ends an object", "", rule_options({}),
       run_break_on_put_to_zero},
      {"break-on-count", kRuleUsage, "stop before a get that takes an object above so many references", "",
       rule_options({{"--above", "N", "references that an object may have"}}), run_break_on_count},
      {"break-on-event", "[list | delete N | disable N | enable N | #NUMBER] [OPTIONS]",
       "stop at one event of an object: run again to a place in its history",
       "#NUMBER is an event as a history prints it: the rule stops at the same event of the object at its "
       "address.",
       rule_options(
           {{"--number", "N", "which of the object's events: 1 is the first line of its history"},
            {"--generation", "N", "which of the objects that live at this address (default: each)"}}),
       run_break_on_event},
      {"follow",
       "[list | delete N | disable N | enable N | #NUMBER] [OPTIONS]",
       "run again, and tell the lines that one call goes through: from an event of an object until it "
       "returns",
       "#NUMBER is an event as a history prints it: the next run follows the function that took or gave back "
       "there.\n"
       "The program does not stop. refhist explain chooses the events by itself.",
       {{"--family", "GLOB", "only objects of these families; may be given again"},
        {"--object", "ADDR|EXPR", "the object at this address"},
        {"--number", "N", "which of the object's events: 1 is the first line of its history"},
        {"--generation", "N", "which of the objects that live at this address (default: each)"},
        {"--in", "FUNCTION", "another function on the event's stack"},
        {"--pointer", "", "go on behind its return: wherever the pointer goes, until nobody has it"},
        {"--sum", "HEX", "only if this history has led to the event, as refhist explain asks"},
        {"--save", "FILE", "write the lines into the file, as JSON"},
        kJson},
       run_follow},
      {"set", "NAME VALUE", "change a setting (refhist show lists them)", "", {}, run_set},
      {"show", "[NAME]", "the settings and what they do", "", {}, run_show},
      {"help", "[VERB]", "what a verb does", "", {}, run_help},
  };
}

std::vector<Command> make_table() {
  std::vector<Command> table = track_commands();
  for (Command& command : report_commands()) table.push_back(std::move(command));
  for (Command& command : rule_commands()) table.push_back(std::move(command));
  return table;
}

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> table = make_table();
  return table;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Command& command : command_table()) names.push_back(command.verb);
  return names;
}

const Command* find_command(std::string_view verb) {
  const auto& table = command_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Command& command) { return command.verb == verb; });
  return found == table.end() ? nullptr : &*found;
}

const Command* find_by_prefix(std::string_view prefix) {
  const Command* found = nullptr;
  for (const Command& command : command_table()) {
    if (prefix.empty() || command.verb.rfind(prefix, 0) != 0) continue;
    if (found != nullptr) return nullptr;
    found = &command;
  }
  return found;
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("refhist {} {}\n  {}\n", command.verb, command.usage, command.summary);
  for (const std::string& line : split(command.details, '\n')) {
    if (!line.empty()) text += fmt::format("  {}\n", line);
  }
  for (const OptionSpec& option : command.options) {
    const std::string left = option.value.empty() ? option.name : option.name + " " + option.value;
    text += fmt::format("    {:<24} {}\n", left, option.help);
  }
  return text;
}

std::string help_overview() {
  std::string text = "refhist ADDR|EXPR\n  the whole life of the object at this address\n";
  for (const Command& command : command_table()) {
    text += fmt::format("refhist {:<22} {}\n", command.verb, command.summary);
  }
  return text + "refhist help VERB tells more.\n";
}

void run_help(CommandContext& context) {
  context.arguments.expect_words(1, "help");
  if (context.arguments.words().empty()) {
    context.text = help_overview();
    return;
  }
  const std::string& verb = context.arguments.words().front();
  const Command* command = find_command(verb);
  if (command == nullptr) fail("no verb {}{}", verb, suggestion(verb, verb_names()));
  context.text = help_text(*command);
}

}  // namespace refhist
