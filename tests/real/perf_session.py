"""Runs inside GDB or LLDB, with refhist loaded: follows one family through one run of the program.

The environment says what to do: REFHIST_SESSION_FAMILY, _ARGUMENTS (of the program, blank-separated) and _RESULT. The
program prints into RESULT.out. RESULT becomes JSON: what `refhist status` and `refhist objects --all` say after the end
and the seconds that each command took (wall clock, and processor time of the debugger).
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from debugger import execute, gdb  # noqa: E402

if gdb is None:
    import lldb

family = os.environ["REFHIST_SESSION_FAMILY"]
arguments = os.environ["REFHIST_SESSION_ARGUMENTS"]
result_file = os.environ["REFHIST_SESSION_RESULT"]
seconds = {}


def timed(name, command):
    wall, processor = time.perf_counter(), time.process_time()
    text = execute(command)
    seconds[name] = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    return text


def run(output):
    if gdb:
        execute(f"set args {arguments} >{output}")
        return "run"
    lldb.debugger.SetAsync(False)
    return f"process launch -o {output} -- {arguments}"


def at_main():
    """How long the debugger needs to reach main without refhist, and refhist to arm there."""
    execute("tbreak main" if gdb else "breakpoint set --one-shot true --name main")
    timed("run to main", run("/dev/null"))
    execute("refhist set allocators off")  # one family alone is compared
    timed(f"refhist track {family}", f"refhist track {family}")
    if gdb:
        execute("kill")
    else:  # inside `command script import` LLDB's own commands still see the state from before
        lldb.debugger.GetSelectedTarget().GetProcess().Kill()


def whole_run():
    timed("run to the end", run(result_file + ".out"))
    status = json.loads(timed("refhist status --json", "refhist status --sites --json"))
    objects = json.loads(timed("refhist objects --all --json", "refhist objects --all --json"))
    return {"status": status, "objects": objects["objects"], "seconds": seconds}


at_main()
answer = whole_run()
with open(result_file, "w") as file:
    json.dump(answer, file)
