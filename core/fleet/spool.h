// Runs that wait to be sent, as files: $XDG_STATE_HOME/refhist/spool, a folder for each database. A run
// stands here before anybody tries to send it, so that whatever dies meanwhile loses none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/open_file.h"

namespace refhist {

class Spool {
 public:
  /// `target`: the database. Makes the folder. Throws Error.
  explicit Spool(const std::string& target);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Writes a record, and the history that goes along with it (a file; empty: none). Returns the record's
  /// path; what had to be thrown away for it is added to `told`. Throws Error.
  std::string put(const std::string& record, const std::string& history, std::vector<std::string>& told);
  /// The paths of all records, the oldest first.
  [[nodiscard]] std::vector<std::string> records() const;
  /// The history of a record: one Zstandard frame. Empty when it has none.
  [[nodiscard]] static std::string history_of(const std::string& record);
  [[nodiscard]] static bool is_there(const std::string& record);
  /// It was sent.
  static void remove(const std::string& record);
  /// The database will never take it: set aside as FILE.refused, for people.
  static void refuse(const std::string& record);
  /// The right to send what others have left; false where somebody else has it.
  [[nodiscard]] bool lock_backlog();

 private:
  void make_room(std::uint64_t bytes, std::vector<std::string>& told) const;

  std::string folder_;
  OpenFile lock_;
};

}  // namespace refhist
