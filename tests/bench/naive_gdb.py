"""What a user of GDB would write by hand: breakpoints that record the object's address and nothing else.

And, to see what GDB itself takes, breakpoints that do nothing but count.
"""

import gdb

addresses = []
idle_hits = 0


class Naive(gdb.Breakpoint):
    def stop(self):
        addresses.append(int(gdb.newest_frame().read_register("rdi")))
        return False


class Idle(gdb.Breakpoint):
    def stop(self):
        global idle_hits
        idle_hits += 1
        return False


def place(kind):
    for function in ("conn_get", "conn_put", "conn_try_get"):
        kind(f"*{function}")


def tell_events():
    print(f'"events": {len(addresses) + idle_hits}')
