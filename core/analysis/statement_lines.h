// The line of a call where the compiler tells one that has no statement: GCC puts what a lambda captures at
// the closing brace of the lambda, or of the function around it.
#pragma once

#include "analysis/frame_namer.h"
#include "analysis/source_files.h"

namespace refhist {

class StatementLines {
 public:
  explicit StatementLines(const ModuleMap& modules) : modules_(modules) {}
  /// Of the call that the frame makes, which is not made for the end of a scope: where the statement begins,
  /// if nothing but brackets stands in the frame's line. 0: the frame's own line.
  unsigned of_call(const NamedFrame& frame);

 private:
  unsigned newest_before(Address at, const FunctionSymbol& function, const NamedFrame& frame,
                         const Module& module);
  bool is_brackets(const std::string& file, unsigned line);

  const ModuleMap& modules_;
  SourceFiles files_;
};

}  // namespace refhist
