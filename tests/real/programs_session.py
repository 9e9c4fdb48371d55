"""Runs inside GDB or LLDB: one run of a program, with refhist or (in GDB) with breakpoints of the debugger's own.

REFHIST_SESSION holds JSON: {"commands": […], "arguments": "…", "result": FILE, "events": bool, "by_hand": {ADDRESS: ROLE}}.
RESULT becomes JSON: {"state": exit status or why there is none, "seconds": of the run, "status": refhist status --json,
"events": [[role, function address, [return addresses]]]}. With `by_hand`, events come from the debugger's own
breakpoints and its own unwinder, and refhist is not asked for anything. A call with a null pointer is none.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from debugger import execute, gdb  # noqa: E402

if gdb is None:
    import lldb

session = json.loads(os.environ["REFHIST_SESSION"])


def set_up_gdb():
    for setting in ("pagination off", "confirm off", "startup-with-shell on", "backtrace past-main on",
                    "backtrace past-entry on", "print thread-events off", "breakpoint pending on"):
        execute("set " + setting)
    execute("handle SIGPIPE nostop noprint pass")


def exit_status_in_gdb():
    status = gdb.parse_and_eval("$_exitcode")
    return "no exit status" if status.type.code == gdb.TYPE_CODE_VOID else int(status)


def run():
    output = session["result"] + ".out"
    if gdb:
        set_up_gdb()
        begin = time.perf_counter()
        execute(f"run {session['arguments']} >{output} 2>&1 </dev/null")
        seconds = time.perf_counter() - begin
        return exit_status_in_gdb(), seconds
    lldb.debugger.SetAsync(False)
    begin = time.perf_counter()
    execute(f"process launch -i /dev/null -o {output} -e {output} -- {session['arguments']}")
    seconds = time.perf_counter() - begin
    process = lldb.debugger.GetSelectedTarget().GetProcess()
    ended = process.GetState() == lldb.eStateExited
    return process.GetExitStatus() if ended else "no exit status", seconds


def events_of(objects):
    """[role, where the probed function begins, return addresses of the frames] in event order."""
    found = []
    for thing in objects:
        for event in thing["events"]:
            frames = [int(frame["pc"], 16) for frame in event["stack"] if not frame["inlined"]]
            if frames and event["role"] in ("get", "put", "free"):
                role = event["role"] + (" inlined" if event["stack"][0]["inlined"] else "")
                found.append((event["seq"], role, frames, event["truncated"]))
    return [[role, frames[0], frames[1:], truncated] for _, role, frames, truncated in sorted(found)]


def watch_by_hand(seen):
    class Watch(gdb.Breakpoint):
        def stop(self):
            frame = gdb.newest_frame()
            while frame.type() == gdb.INLINE_FRAME:
                frame = frame.older()
            pc = frame.pc()
            role = session["by_hand"][str(pc)]
            if not role.endswith("inlined") and int(frame.read_register("rdi")) == 0:
                return False
            frames = []
            frame = frame.older()
            while frame is not None and len(frames) < 64:
                if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
                    frames.append(frame.pc())
                frame = frame.older()
            seen.append([role, pc, frames, False])
            return False

    # The libraries are there before main; the addresses are those of the run before.
    execute(f"set args {session['arguments']} >{session['result']}.out 2>&1 </dev/null")
    set_up_gdb()
    gdb.Breakpoint(session["begin"], temporary=True)
    execute("run")
    for address in session["by_hand"]:
        Watch(f"*{address}", internal=True).silent = True
    execute("continue")
    return exit_status_in_gdb()


answer = {}
if "by_hand" in session:
    answer["events"] = []
    answer["state"] = watch_by_hand(answer["events"])
else:
    for command in session["commands"]:
        execute(command)
    answer["state"], answer["seconds"] = run()
    answer["status"] = json.loads(execute("refhist status --sites --json"))
    if session["events"]:
        answer["events"] = events_of(json.loads(execute("refhist objects --all --json"))["objects"])
with open(session["result"], "w", encoding="utf-8") as file:
    json.dump(answer, file)
