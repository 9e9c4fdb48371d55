"""Runs inside GDB: answers the driver's questions as one line of JSON."""

import json

import gdb

_last_stop = {"signal": None, "breakpoints": []}


def _on_stop(event):
    _last_stop["signal"] = getattr(event, "stop_signal", None)
    _last_stop["breakpoints"] = [b.number for b in getattr(event, "breakpoints", [])]


gdb.events.stop.connect(_on_stop)


def _answer(value):
    print("answer: " + json.dumps(value))


def _number(name):
    value = gdb.convenience_variable(name)
    return None if value is None else int(value)


def _frames():
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and len(frames) < 64:
        frames.append(frame.name() or "")
        try:
            frame = frame.older()
        except gdb.error:
            break
    return frames


def _state():
    inferior = gdb.selected_inferior()
    thread = gdb.selected_thread()
    if inferior.pid == 0 or thread is None:
        status, ended_by = _number("_exitcode"), _number("_exitsignal")
        ended = status is not None or ended_by is not None
        return {"state": "exited" if ended else "none", "exit_status": status, "exit_signal": ended_by}
    if thread.is_running():
        return {"state": "running", "pid": inferior.pid}
    return {
        "state": "stopped",
        "pid": inferior.pid,
        "thread": thread.ptid[1],
        "signal": _last_stop["signal"],
        "user_breakpoints": [n for n in _last_stop["breakpoints"] if n > 0],
        "frames": _frames(),
        "pc": int(gdb.newest_frame().pc()),
    }


def answer_state():
    _answer(_state())


def answer_execute(line):
    """Runs a command; the answer tells whether it succeeded and what it printed."""
    try:
        answer = {"ok": True, "text": gdb.execute(line, to_string=True)}
    except gdb.error as error:
        answer = {"ok": False, "text": str(error)}
    _answer(answer)


def answer_value(expression):
    _answer(int(gdb.parse_and_eval(f"(unsigned long)({expression})")))


def answer_python(expression):
    """An expression of GDB's Python, as a user would write it after `import refhist`."""
    import refhist

    try:
        _answer({"value": eval(expression, {"refhist": refhist, "gdb": gdb})})
    except refhist.Error as error:
        _answer({"error": str(error)})


def answer_threads():
    _answer([t.ptid[1] for t in gdb.selected_inferior().threads()])
