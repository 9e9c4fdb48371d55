// What a run is of, as its sender says it: the history does not know.
#pragma once

#include <map>
#include <string>

namespace refhist {

/// Whether the whole history goes along with a run.
enum class SendHistory { never, on_findings, always };

struct RunFacts {
  std::string project;  ///< one of the database's many
  std::string name;     ///< of the run; empty: its program's
  std::string branch;
  std::string commit;  ///< empty: unknown
  std::string host;
  std::string debugger;  ///< "gdb", "lldb"
  std::map<std::string, std::string> labels;
  SendHistory history = SendHistory::never;

  /// What the environment says: REFHIST_PROJECT, REFHIST_BRANCH, REFHIST_COMMIT, or the variables of GitLab
  /// and of GitHub; this machine's name.
  static RunFacts from_environment();
  /// "K=V". Throws Error.
  void add_label(const std::string& text);
  /// always, on-findings or never. Throws Error.
  void set_history(const std::string& text);
};

/// A database's address with a password in it would stand in the list of processes. Throws Error.
void refuse_password(const std::string& target);

}  // namespace refhist
