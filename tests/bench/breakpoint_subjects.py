"""What is compared: debuggers that each run a copy of the program and do one thing at every get and put."""

import os

from session import Session
from workload import DEEP, SHALLOW, TRIES, WORKLOADS

_HERE = os.path.dirname(os.path.abspath(__file__))
_TRACK = "track --backend breakpoint --init conn_new --get conn_get --try-get conn_try_get --put conn_put"
_COUNTER = " --count refs"
# Functions of the C library that the program never calls: some 250 sites that cost without giving an event.
_UNUSED = (
    "refhist track --backend breakpoint --name unused --get wcs*,sem_*,aio_*,mq_*,timer_*,getut*,pthread_attr_*,posix_spawn* "
    "--put ns_*,res_*,wmem*,inet6_*,isw*,ether_*,argp_*,hsearch*,envz_*,argz_*"
)
_STATUS = "refhist status --json"
_WITHOUT_STACKS = {SHALLOW: 1.3}
_WITH_STACKS = {DEEP: 1.5}


class Subject:
    def __init__(self, title, session, workloads=WORKLOADS, target=None):
        """`target`: what the ratio to the callback by hand shall be at most, by workload."""
        self.title = title
        self.session = session
        self.workloads = workloads
        self.target = target or {}


def _of_refhist(session, load):
    """`session(commands before the run, command after it)`; `load` is the command that loads refhist."""

    def tracked(options, *more):
        return session([load, f"refhist {_TRACK}{options}", *more], _STATUS)

    without_stacks = tracked(_COUNTER + " --stacks none")
    counter_unread = tracked(" --stacks none")
    return [
        Subject("refhist --stacks none", without_stacks, (SHALLOW, TRIES), _WITHOUT_STACKS),
        Subject("refhist --stacks none, counter not read", counter_unread, (SHALLOW,), _WITHOUT_STACKS),
        Subject("refhist", tracked(_COUNTER), WORKLOADS, _WITH_STACKS),
        Subject("refhist, counter not read", tracked(""), (SHALLOW, DEEP), _WITH_STACKS),
        Subject("refhist, 250 more sites armed", tracked(_COUNTER, _UNUSED), (SHALLOW,)),
    ]


def gdb_subjects(build, gdb, scratch):
    program = f"{build}/tests/bench/bench_program"

    def session(before, after):
        options = [word for command in (*before, "run", after) for word in ("-ex", command)]
        return Session([gdb, "-nx", "-q", "-batch", *options, "--args", program], f"{scratch}/gdb")

    def by_hand(kind):
        return session([f"source {_HERE}/naive_gdb.py", f"python place({kind})"], "python tell_events()")

    return [
        Subject("callback by hand (Python)", by_hand("Naive")),
        Subject("the same once more", by_hand("Naive")),
        Subject("callback that does nothing", by_hand("Idle")),
        *_of_refhist(session, f"source {build}/gdb/refhist.py"),
    ]


def lldb_subjects(build, lldb, scratch):
    program = f"{build}/tests/bench/bench_program"
    # Breakpoints by name lie behind the prologue unless told otherwise: rdi may hold something else there.
    settings = ["settings set target.skip-prologue false", f"target create {program}"]

    def session(before, after):
        commands = (*settings, *before, "process launch -- {socket}", after)
        options = [word for command in commands for word in ("-o", command)]
        return Session([lldb, "--no-lldbinit", "--no-use-colors", "-b", *options], f"{scratch}/lldb")

    def by_hand(kind):
        return session([f"plugin load {build}/tests/bench/libbench_naive_lldb.so", f"naive {kind}"], "naive events")

    python = session([f"command script import {_HERE}/naive_lldb.py"], "script naive_lldb.tell_events()")
    return [
        Subject("callback by hand (C++)", by_hand("record")),
        Subject("the same once more", by_hand("record")),
        Subject("callback that does nothing (C++)", by_hand("idle")),
        Subject("callback by hand (Python)", python),
        *_of_refhist(session, f"plugin load {build}/lldb_plugin/librefhist_lldb.so"),
    ]
