"""For refhist-run: a program that nobody watches stops at the signals of a crash, and goes on with them.

The core looks there whether a dead object is behind it. A program that handles such a signal may get thousands of
them: after some stops it gets them without.
"""

import gdb

CRASHES = "SIGABRT SIGBUS SIGFPE SIGILL SIGSEGV SIGSYS".split()
_MOST_STOPS = 16


class CrashStops:
    def __init__(self):
        self._stops = 0
        _handle("stop print")

    def passes(self, name):
        """Whether the program goes on with this signal, at which it has stopped."""
        if name not in CRASHES:
            return False
        self._stops += 1
        if self._stops == _MOST_STOPS:
            _handle("nostop noprint")
        return True


def run():
    """Runs the program until it has ended."""
    stops = CrashStops()
    signals = []
    gdb.events.stop.connect(lambda event: signals.append(getattr(event, "stop_signal", None)))
    command = "run"
    while True:
        gdb.execute(command)
        if gdb.selected_thread() is None:
            return
        # GDB needs SIGTRAP for itself: a program that raises it stops, and is given it then
        command = "continue" if stops.passes(signals[-1]) else "signal SIGTRAP"


def _handle(how):
    gdb.execute(f"handle {' '.join(CRASHES)} {how} pass", to_string=True)
