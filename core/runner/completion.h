// What may stand at the end of a command line: what the shell is told when the user presses the tabulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"

namespace refhist {

struct Completion {
  enum class Also { nothing, files, folders };

  std::vector<std::string> words;         ///< those that begin as the last word does
  Also also = Also::nothing;              ///< what the shell shall look for itself
  std::optional<std::size_t> command_at;  ///< another program's command line begins at this word
};

/// The last word of `words`, which stand behind the program's name: an option of the table, or an option's
/// value. At the first word that is neither, `completion.command_at` is that word's place.
Completion complete_options(const std::vector<OptionSpec>& options, const std::vector<std::string>& words);

/// One word a line, then ":files", ":folders" or ":command N" (1 is the word behind the program's name).
std::string completion_text(const Completion& completion);

}  // namespace refhist
