"""Hardware watchpoints of ours: internal and silent, one for each counter.

As they watch raw addresses, GDB would put them into the next process as well: they are deleted with the process.
"""

import gdb

_MOST = 4  # debug registers of the processor; GDB takes more, and then fails to continue
_TYPES = {1: "char", 2: "short", 4: "int", 8: "long"}


class OurWatchpoint(gdb.Breakpoint):
    def __init__(self, address, size, changed):
        """`changed(address)` raises nothing."""
        super().__init__(f"*({_TYPES[size]} *) {address:#x}", gdb.BP_WATCHPOINT, gdb.WP_WRITE, internal=True)
        self.silent = True
        self.address = address
        self._changed = changed

    def stop(self):
        self._changed(self.address)
        return False


class Watchpoints:
    def __init__(self, changed):
        self._changed = changed
        self._placed = {}
        self._retired = []
        self._telling = False  # the stop() of one of these runs

    def place(self, address, size):
        """Raises gdb.error with the reason when there is no register for it."""
        if not self._telling:
            self.delete_retired()
        used = [b for b in gdb.breakpoints() or () if b.visible and b.enabled and b.type in _in_registers()]
        if len(used) + len(self._placed) >= _MOST:
            raise gdb.error(f"the processor has {_MOST} debug registers, and all are in use")
        with gdb.with_parameter("can-use-hw-watchpoints", 1), gdb.with_parameter("language", "c"):
            made = OurWatchpoint(address, size, self._tell)
        if made.type != gdb.BP_HARDWARE_WATCHPOINT:
            made.delete()
            raise gdb.error("GDB has no hardware watchpoint for it")
        self._placed[address] = made

    def _tell(self, address):
        self._telling = True
        try:
            self._changed(address)
        finally:
            self._telling = False

    def remove(self, address):
        """It may be the one whose stop() is running: GDB does not survive its deletion."""
        watchpoint = self._placed.pop(address, None)
        if watchpoint is not None and watchpoint.is_valid():
            watchpoint.enabled = False
            self._retired.append(watchpoint)

    def alive(self, address):
        watchpoint = self._placed.get(address)
        return watchpoint is not None and watchpoint.is_valid() and watchpoint.enabled

    def delete_retired(self):
        retired, self._retired = self._retired, []
        for watchpoint in retired:
            if watchpoint.is_valid():
                watchpoint.delete()

    def delete_all(self):
        self._retired.extend(self._placed.values())
        self._placed.clear()
        self.delete_retired()


def _in_registers():
    """Of the user's, those that take a debug register."""
    kinds = ("BP_HARDWARE_BREAKPOINT", "BP_HARDWARE_WATCHPOINT", "BP_READ_WATCHPOINT", "BP_ACCESS_WATCHPOINT")
    return [getattr(gdb, kind) for kind in kinds if hasattr(gdb, kind)]
