"""GDB's own server of the Debug Adapter Protocol (gdb -i=dap, GDB 14), which is written in Python.

It runs the program by commands whose output it throws away, its events of stops have no room for a text, and it tells
the client of every breakpoint that Python has made. So what refhist says while the program runs becomes output of
the client's console, a stop's event is given the reason, and of our breakpoints the client hears nothing.

The server calls functions by names in its modules. They are replaced there; one that another GDB does not have is left
alone, and only what it would have carried is missing.
"""

import sys

_EVENTS, _BREAKPOINTS, _SERVER = "gdb.dap.events", "gdb.dap.breakpoint", "gdb.dap.server"
_SENDERS = ("send_event", "send_event_maybe_later")


def is_served():
    return _EVENTS in sys.modules


class Client:
    describes_stops = True

    def __init__(self, session):
        self._session = session
        for module in (_EVENTS, _BREAKPOINTS):
            for name in _SENDERS:
                self._stand_before(module, name)

    def _stand_before(self, module, name):
        send = getattr(sys.modules.get(module), name, None)
        if send is None:
            return

        def send_ours(event, body=None):
            if event == "breakpoint" and _is_ours(body["breakpoint"]["id"]):
                return
            send(event, self._with_reason(body) if event == "stopped" else body)

        setattr(sys.modules[module], name, send_ours)

    def _with_reason(self, body):
        body = dict(body)
        if "hitBreakpointIds" in body:
            body["hitBreakpointIds"] = [number for number in body["hitBreakpointIds"] if not _is_ours(number)]
        reason = self._session.stop_reason
        if reason:
            body["description"] = body["text"] = reason
        return body

    def tell(self, text):
        sys.modules[_SERVER].send_event("output", {"category": "console", "output": text})

    def show_stop(self, reason, place_is_shown):
        self.tell(reason + "\n")  # a client that shows no text of a stop shows this


def _is_ours(number):
    return number < 0  # GDB numbers internal breakpoints so
