"""The catchpoint of break-on-leak --raw-exit: stops at exit system calls, if the core says so.

GDB has no internal catchpoints, so the user sees it in `info breakpoints`, with the condition that tells whose it is.
It is deleted with the last rule that wants it; a user who deletes it first is told what that means.
"""

import gdb

CONDITION = "_refhist_raw_exit"


class ExitCatch:
    def __init__(self, silent):
        self._silent = silent
        self._catchpoint = None

    def place(self):
        if self._catchpoint is None:
            gdb.execute("catch syscall exit_group exit", to_string=True)
            number = int(gdb.convenience_variable("bpnum"))
            self._catchpoint = next(b for b in gdb.breakpoints() if b.number == number)
            self._catchpoint.condition = f"${CONDITION}()"
            self._catchpoint.silent = self._silent
        self._catchpoint.enabled = True

    def remove(self):
        catchpoint, self._catchpoint = self._catchpoint, None
        if catchpoint is not None:
            catchpoint.delete()

    def alive(self):
        return self._catchpoint is not None and self._catchpoint.enabled

    def is_ours(self, breakpoint):
        return self._catchpoint is not None and breakpoint.number == self._catchpoint.number

    def deleted(self, breakpoint):
        if self.is_ours(breakpoint):
            self._catchpoint = None
            gdb.write(
                f"refhist: catchpoint {breakpoint.number} was deleted: break-on-leak --raw-exit no longer stops at a "
                "raw exit (break-on-leak enable N restores it)\n"
            )
