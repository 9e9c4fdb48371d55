// Gives recorded frames their functions, files and lines, and picks the frame that owns a reference.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "history/history.h"
#include "sites/site_table.h"
#include "symbols/module_map.h"

namespace refhist {

struct NamedFrame {
  std::string function;  ///< demangled; empty when unknown
  std::string file;      ///< full path; empty when unknown
  unsigned line = 0;
  std::string module;  ///< path; empty when in no module
  Address pc = 0;      ///< in memory while the module is loaded, else in the file
  bool inlined = false;
};

class FrameNamer {
 public:
  FrameNamer(const ModuleMap& modules, const SiteTable& sites, const History& history)
      : modules_(modules), sites_(sites), history_(history) {}

  /// All frames of a stack, innermost first; each inlined call is a frame of its own.
  std::vector<NamedFrame> stack(StackId stack);
  /// The frame in whose hands the reference was taken or given back: the caller of a function of the program
  /// itself; for a library's function the first frame outside that library.
  NamedFrame owner(const Event& event);
  /// "conn_close (json_client.c:120)", or module and address when nothing better is known.
  static std::string text(const NamedFrame& frame);
  void modules_changed() { cache_.clear(); }

 private:
  const std::vector<NamedFrame>& name(const StackFrame& frame);

  struct Hash {
    std::size_t operator()(const StackFrame& frame) const noexcept {
      return std::hash<Address>{}(frame.pc * 31 + frame.module.value * 2 + (frame.exact ? 1 : 0));
    }
  };
  const ModuleMap& modules_;
  const SiteTable& sites_;
  const History& history_;
  std::unordered_map<StackFrame, std::vector<NamedFrame>, Hash> cache_;
};

}  // namespace refhist
