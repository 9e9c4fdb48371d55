"""What a user of GDB would write by hand: breakpoints that record the object's address and nothing else."""

import gdb

addresses = []


class Naive(gdb.Breakpoint):
    def stop(self):
        addresses.append(int(gdb.newest_frame().read_register("rdi")))
        return False


for function in ("conn_get", "conn_put", "conn_try_get"):
    Naive(f"*{function}")


def tell_events():
    print(f'"events": {len(addresses)}')
