"""Breakpoints of ours: internal, one for each address, and silent where a person is to be shown the stop by us.

They are made at raw addresses, which GDB would try to insert again into the next process (and fail). So
all of them are deleted when the process ends or executes another program; the core arms anew.
"""

import gdb


class OurBreakpoint(gdb.Breakpoint):
    def __init__(self, address, hit, silent=True):
        """`hit(address)` tells whether the program shall stop; it raises nothing."""
        super().__init__(f"*{address:#x}", internal=True)
        self.silent = silent
        self.address = address
        self._hit = hit

    def stop(self):
        return self._hit(self.address)

    def confine(self, inferior):
        """GDB gives a breakpoint at an address a location in every program; only this one's is wanted."""
        for location in self.locations:
            wanted = inferior.num in location.thread_groups
            if location.enabled != wanted:
                location.enabled = wanted


class Breakpoints:
    def __init__(self, hit, silent):
        self._hit = hit
        self._silent = silent
        self._placed = {}
        self._retired = {}
        self._silenced = []

    def place(self, address):
        if address in self._placed:
            return
        kept = self._retired.pop(address, None)
        if kept is None or not kept.is_valid():
            kept = OurBreakpoint(address, self._hit, self._silent)
        elif not kept.enabled:
            kept.enabled = True
        self._placed[address] = kept

    def remove(self, address, standing_at):
        """`standing_at`: where a stop() of ours is running. GDB does not survive the deletion of that one."""
        breakpoint = self._placed.pop(address, None)
        if breakpoint is None:
            return
        self._retired[address] = breakpoint
        if address == standing_at:
            breakpoint.enabled = False
        self.delete_retired(standing_at)

    def addresses(self):
        return [*self._placed, *self._retired]

    def renew(self, addresses):
        """GDB has lost these."""
        for address in addresses:
            lost = self._placed.pop(address, None) or self._retired.pop(address, None)
            if lost is None:
                continue
            if lost.is_valid():
                lost.delete()
            self.place(address)

    def alive(self, address):
        breakpoint = self._placed.get(address)
        return breakpoint is not None and breakpoint.is_valid() and breakpoint.enabled

    def confine(self, inferior):
        for breakpoint in self._placed.values():
            breakpoint.confine(inferior)

    def silence(self, standing_at):
        """None but the one at `standing_at` stops a thread until `loud`."""
        self._silenced = [breakpoint for address, breakpoint in self._placed.items() if address != standing_at and breakpoint.enabled]
        for breakpoint in self._silenced:
            breakpoint.enabled = False

    def loud(self):
        silenced, self._silenced = self._silenced, []
        for breakpoint in silenced:
            if breakpoint.is_valid():
                breakpoint.enabled = True

    def delete_retired(self, standing_at=None):
        for address in [a for a in self._retired if a != standing_at]:
            breakpoint = self._retired.pop(address)
            if breakpoint.is_valid():
                breakpoint.delete()

    def delete_all(self):
        self._retired.update(self._placed)
        self._placed.clear()
        self.delete_retired()
