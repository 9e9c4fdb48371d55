// Compiled as a release is: frames on rsp.
#define WALK walk_optimized
#include "agent_stacks_paths.inc"
