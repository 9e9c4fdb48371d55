target_sources(refhist_core PRIVATE
  commands/analysis_commands.cpp
  commands/arguments.cpp
  commands/auto_track.cpp
  commands/check_command.cpp
  commands/command_table.cpp
  commands/discover_command.cpp
  commands/explain_command.cpp
  commands/file_commands.cpp
  commands/owners_command.cpp
  commands/report_commands.cpp
  commands/rule_commands.cpp
  commands/settings_command.cpp
  commands/slab_track.cpp
  commands/track_command.cpp
  commands/watch_command.cpp)
