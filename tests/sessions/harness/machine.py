"""What this machine can do, asked without refhist."""

import functools
import subprocess


@functools.cache
def watchpoints_trigger():
    """Some virtual machines accept hardware watchpoints, and nothing ever stops for them. The first call pushes a word."""
    watch = 'eval "watch *(long *)%#lx", $sp - 8'  # a place, or GDB would step through the program
    words = ["gdb", "-q", "-nx", "-batch", "-ex", "starti", "-ex", watch, "-ex", "continue", "/bin/true"]
    said = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False).stdout
    return "Old value" in said
