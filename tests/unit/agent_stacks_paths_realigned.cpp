// Compiled so that every function aligns the stack: CFA by expression.
#define WALK walk_realigned
#include "agent_stacks_paths.inc"
