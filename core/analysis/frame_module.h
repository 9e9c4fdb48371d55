// The module that a frame's code is in.
#pragma once

#include "analysis/frame_namer.h"

namespace refhist {

/// One with debug information. The same file may have been loaded elsewhere before; frames of a program that
/// is gone have the file's addresses. nullptr when there is none.
const LoadedModule* module_of(const ModuleMap& modules, const NamedFrame& frame);
/// The same, also one without debug information.
const LoadedModule* any_module_of(const ModuleMap& modules, const NamedFrame& frame);
/// It is a library's of the system, without source.
bool is_inside_library(const NamedFrame& frame);
/// Bytes from where the function that has the frame's instruction begins; 0 when that is not known.
Address offset_in_function(const ModuleMap& modules, const NamedFrame& frame);

}  // namespace refhist
