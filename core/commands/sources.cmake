target_sources(refhist_core PRIVATE commands/arguments.cpp commands/command_table.cpp commands/discover_command.cpp commands/report_commands.cpp commands/rule_commands.cpp commands/track_command.cpp)
