// Compiled with -O0: frames on rbp.
#define WALK walk_unoptimized
#include "agent_stacks_paths.inc"
