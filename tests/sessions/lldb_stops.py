"""Where LLDB stops when it steps into a function is known for every function: no breakpoint may spoil a jump."""

import os
import subprocess

from harness.checks import check, equal

PROLOGUES = (
    "{f.GetStartAddress().GetFileAddress(): f.GetStartAddress().GetFileAddress() + f.GetPrologueByteSize()"
    " for s in frame.thread.process.target.module[0]"
    " for f in [s.GetStartAddress().GetFunction()]"
    # Not where LLDB takes the cold part, which nobody calls, for the function's beginning.
    " if f and f.GetStartAddress() == s.GetStartAddress() and not (s.GetMangledName() or s.GetName()).endswith('.cold')}"
)


def test_every_function(d):
    tool = os.path.join(d.case.build, "tests", "sessions", "stops_of_lldb")
    lines = subprocess.run([tool, d.program], check=True, capture_output=True, text=True).stdout.splitlines()
    expected = dict(tuple(map(int, line.split())) for line in lines)
    d.break_at("main")
    d.run()
    found = {int(entry): stop for entry, stop in d.python(PROLOGUES).items()}
    check(len(found) > 20, f"only {len(found)} functions have debug information")
    check(any(stop != entry for entry, stop in found.items()), "no prologue at all")
    wrong = [f"{entry:#x}: {expected.get(entry):#x} instead of {stop:#x}" for entry, stop in found.items() if expected.get(entry) != stop]
    equal(wrong, [], f"of {len(found)} functions")
