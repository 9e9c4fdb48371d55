// Says the state of call frame information at one place in a FrameRule.
#pragma once

#include "agent/frame_rule.h"
#include "agent_tables/frame_program.h"

namespace refhist {

struct EncodedRule {
  agent::FrameRule rule = {};
  const char* why_not = nullptr;  ///< set when the rule cannot be said: it is then `none`
};

/// `with_rbx`: also where rbx is saved, if that can be said.
EncodedRule encode_rule(const FrameState& state, bool signal_frame, bool with_rbx);

}  // namespace refhist
