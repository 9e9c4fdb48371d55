#pragma once

#include <lldb/API/LLDB.h>

#include <optional>

#include "port/registers.h"

namespace refhist {

/// The general registers of a frame; nothing when one of them is not known there.
std::optional<Registers> read_registers(lldb::SBFrame& frame);

}  // namespace refhist
