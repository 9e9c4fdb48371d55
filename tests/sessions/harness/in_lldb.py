"""Runs inside LLDB: answers the driver's questions as one line of JSON."""

import json
import time

import lldb


def _answer(value):
    print("answer: " + json.dumps(value))


def _process():
    return lldb.debugger.GetSelectedTarget().GetProcess()


def _stopped(process):
    thread = process.GetSelectedThread()
    reason = thread.GetStopReason()
    numbers = []
    if reason == lldb.eStopReasonBreakpoint:
        numbers = [thread.GetStopReasonDataAtIndex(i) for i in range(0, thread.GetStopReasonDataCount(), 2)]
    signal = None
    if reason == lldb.eStopReasonSignal:
        signal = process.GetUnixSignals().GetSignalAsCString(thread.GetStopReasonDataAtIndex(0))
    frames = [thread.GetFrameAtIndex(i) for i in range(min(thread.GetNumFrames(), 64))]
    return {
        "state": "stopped",
        "pid": process.GetProcessID(),
        "thread": thread.GetThreadID(),
        "signal": signal,
        "user_breakpoints": [n for n in numbers if _listed(n)],
        "frames": [_plain_name(f) for f in frames],
        "pc": frames[0].GetPC() if frames else None,
    }


def _plain_name(frame):
    """The name as GDB gives it: C++ without parameters, C as it is."""
    name = frame.GetFunctionName() or ""
    symbol = frame.GetSymbol()
    mangled = (frame.GetFunction().GetMangledName() or symbol.GetMangledName() or "") if not frame.IsInlined() else ""
    return name.split("(")[0] if "(" in name or mangled.startswith("_Z") else name


def _listed(number):
    """True for breakpoints that `breakpoint list` shows."""
    if number >= 1 << 31:  # it is gone already
        return False
    found = lldb.debugger.GetSelectedTarget().FindBreakpointByID(number)
    result = lldb.SBCommandReturnObject()
    lldb.debugger.GetCommandInterpreter().HandleCommand(f"breakpoint list {number}", result)
    return found.IsValid() and result.Succeeded() and bool(result.GetOutput())


def _goes_on_already(process):
    """LLDB's event thread hears of a `continue` later than whoever has given it: until then it passes for stopped."""
    return process.GetNumThreads() != 0 and process.GetThreadAtIndex(0).GetStopReason() == lldb.eStopReasonInvalid


def _state():
    process = _process()
    state = process.GetState() if process.IsValid() else lldb.eStateInvalid
    if state == lldb.eStateExited:
        return {"state": "exited", "exit_status": process.GetExitStatus(), "exit_signal": None}
    stopped = state in (lldb.eStateStopped, lldb.eStateCrashed, lldb.eStateSuspended)
    if stopped and not _goes_on_already(process):
        return _stopped(process)
    if stopped or state in (lldb.eStateRunning, lldb.eStateStepping):
        return {"state": "running", "pid": process.GetProcessID()}
    return {"state": "none", "exit_status": None, "exit_signal": None}


def answer_state():
    _answer(_state())


def answer_execute(line):
    """Runs a command; the answer tells whether it succeeded and what it printed."""
    _answer(_executed(line))


def _executed(line):
    result = lldb.SBCommandReturnObject()
    lldb.debugger.GetCommandInterpreter().HandleCommand(line, result)
    error = result.GetError() or ""
    if result.Succeeded():
        return {"ok": True, "text": (result.GetOutput() or "")}
    return {"ok": False, "text": error.removeprefix("error: ").rstrip("\n")}


def answer_value(expression):
    target = lldb.debugger.GetSelectedTarget()
    frame = target.GetProcess().GetSelectedThread().GetSelectedFrame()
    text = f"(unsigned long)({expression})"
    value = frame.EvaluateExpression(text) if frame.IsValid() else target.EvaluateExpression(text)
    if value.GetError().Fail():
        raise ValueError(value.GetError().GetCString())
    _answer(value.GetValueAsUnsigned())


def answer_python(expression):
    """An expression of LLDB's Python, as a user would write it after `import refhist`."""
    import refhist

    frame = _process().GetSelectedThread().GetSelectedFrame()
    try:
        _answer({"value": eval(expression, {"refhist": refhist, "frame": frame})})
    except refhist.Error as error:
        _answer({"error": str(error)})


def answer_threads():
    _answer([t.GetThreadID() for t in _process()])


def answer_right_behind_continue(line, times):
    """The distinct answers to a command that comes before LLDB's event thread can have heard that the program goes on."""
    lldb.debugger.SetAsync(True)
    process, said = _process(), []
    for _ in range(times):
        process.Continue()
        answer = _executed(line)
        if answer not in said:
            said.append(answer)
        _wait_until(lambda: process.GetState() == lldb.eStateRunning)
        process.SendAsyncInterrupt()
        _wait_until(lambda: _state()["state"] == "stopped")
    lldb.debugger.SetAsync(False)
    _answer(said)


def _wait_until(true):
    end = time.monotonic() + 20
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
