"""refhist-run --children: GDB follows what the program starts, LLDB says that it does not.
usage: run_children.py --debugger gdb|lldb --build DIR [--only test_x]"""

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

from runner_harness import CONN, SESSIONS, contains, equal, lacks, main, page_data, python

OF_LOST = 3  # gets of an object that is lost
OF_INHERITED = 2  # gets of an object that was there before the fork

EVENTS_OF_A_CHILD = 404  # tests/sessions/children.c: an object with 200 gets and as many puts


def run(r, program, options=()):
    """The finished session, its JSON, and what each process says at its end: {pid: gets}."""
    done = r.run(["--children", "--track", CONN, "--json", "s.json", *options], program)
    gets = dict(map(int, line.split()[1:]) for line in done.stdout.splitlines()
                if line.startswith("gets ") and len(line.split()) == 3)
    return done, r.read_json("s.json"), gets


def forking(r, *words, options=()):
    return run(r, [os.path.join(r.build, "tests", "runner", "runner_forking"), *words], options)


def fork_children(session):
    """(process, parent, exit status) of each child, in the order in which they ended their parent's text."""
    return [(child["pid"], child["parent"], child["program"]["exit_status"]) for child in session["children"]]


def expect_whole(session, children):
    equal((session["complete"], session["failed"], session["notes"]), (True, "", []), "session")
    equal(len(session["children"]), children, "children")
    equal([child["failed"] for child in session["children"]], [""] * children, "their sessions")
    equal([child["totals"]["lost_events"] for child in session["children"]], [0] * children, "lost events")


def expect_events(child, gets, lost=0, inherited=0):
    """An object is born, gets one init and one free; one that is lost misses the last put and the free."""
    of_own = 2 * (gets - OF_LOST * lost - OF_INHERITED * inherited) + 4
    of_lost = lost * (2 * OF_LOST + 2)
    of_inherited = inherited * (2 * OF_INHERITED + 2)
    equal(child["totals"]["events"], of_own + of_lost + of_inherited, f"events of process {child['pid']}")


def test_nothing_is_missed(r):
    done, session, gets = forking(r, "clean", "5")
    equal((done.returncode, len(gets)), (0, 6), f"status, processes ({done.stdout} {done.stderr})")
    expect_whole(session, 5)
    equal(sorted(status for _, _, status in fork_children(session)), [0, 1, 2, 3, 4], "statuses")
    for child in session["children"]:
        expect_events(child, gets[child["pid"]])
    contains(done.stderr, "5 children of the program followed: 70 events on 5 objects", "report")
    equal(session["totals"]["forks"], 5, "forks")


def test_leaks_of_children(r):
    done, session, gets = forking(r, "leak", "4")
    equal((done.returncode, session["program"]["exit_status"]), (23, 0), f"status ({done.stderr})")
    expect_whole(session, 4)
    for child in session["children"]:
        expect_events(child, gets[child["pid"]], lost=child["program"]["exit_status"] % 2)
    equal([(finding["verdict"], finding["alike"]) for finding in session["findings"]], [("leak", 2)], "findings")
    odd = {child["pid"] for child in session["children"] if child["program"]["exit_status"] % 2 == 1}
    equal(set(session["findings"][0]["processes"]), odd, "processes with the leak")


def test_object_from_before_the_fork(r):
    done, session, gets = forking(r, "put-inherited", "3")
    equal((done.returncode, session["findings"]), (0, []), f"status, findings ({done.stderr})")
    expect_whole(session, 3)
    for child in session["children"]:
        expect_events(child, gets[child["pid"]], inherited=1)


def test_grandchildren(r):
    done, session, gets = forking(r, "grandchild", "2")
    equal(done.returncode, 23, f"status ({done.stderr})")
    expect_whole(session, 4)
    children = [pid for pid, parent, _ in fork_children(session) if parent not in [p for p, _, _ in fork_children(session)]]
    grandchildren = [(pid, parent) for pid, parent, status in fork_children(session) if status == 5]
    equal(sorted(parent for _, parent in grandchildren), sorted(children), "parents of grandchildren")
    equal(sorted(session["findings"][0]["processes"]), sorted(pid for pid, _ in grandchildren), "processes with the leak")
    equal([gets[pid] for pid, _ in grandchildren], [OF_LOST, OF_LOST], "gets")


def test_program_that_a_child_executes(r):
    done, session, gets = forking(r, "exec", "2")
    equal(done.returncode, 23, f"status ({done.stderr})")
    expect_whole(session, 2)
    equal([status for _, _, status in fork_children(session)], [4, 4], "statuses")
    equal([child["totals"]["events"] for child in session["children"]], [2 * OF_LOST + 2] * 2, "events of the new program")


def test_child_that_crashes(r):
    done, session, _ = forking(r, "crash", "3")
    equal(session["program"]["exit_status"], 1, f"children ended by a signal ({done.stderr})")
    expect_whole(session, 3)
    crashed = [child["pid"] for child in session["children"] if child["program"]["signal"] == signal.SIGSEGV]
    equal(len(crashed), 1, "children that crash")
    found = [(finding["verdict"], pid in crashed) for finding in session["findings"] for pid in finding["processes"]]
    # A crash is a stop: the search for leaks runs there, as it does at the end of the other two.
    equal(sorted(found), [("leak", False), ("leak", False), ("leak", True)], "findings")


def test_children_that_outlive_the_program(r):
    _, session, gets = forking(r, "orphan", "2")
    expect_whole(session, 2)
    equal(sorted(status for _, _, status in fork_children(session)), [0, 1], "statuses")
    equal(len(gets), 3, "processes that came to their end")


def test_children_that_are_killed_at_once(r):
    done, session, _ = forking(r, "killed", "4")
    equal((done.returncode, session["program"]["exit_status"], session["complete"], session["failed"]), (0, 4, True, ""),
          f"session ({done.stderr})")


def test_parent_sees_no_stop(r):
    """Neither waitpid nor SIGCHLD tells of a debugger: the program ends with 7 or 6 else."""
    done, session, _ = forking(r, "handler", "3")
    equal(session["program"]["exit_status"], 0, f"status ({done.stderr})")
    expect_whole(session, 3)


def test_parent_that_waits_by_a_file(r):
    """A pidfd is readable when the child has ended, which a debugger need not have heard of yet: waitid tells nothing then."""
    done, session, _ = forking(r, "pidfd", "5")
    equal(session["program"]["exit_status"], 0, f"status ({done.stderr})")
    expect_whole(session, 5)
    programs = [child["program"] for child in session["children"]]
    equal([program["exit_status"] for program in programs if program["signal"] is None], [0, 2, 3, 4], "statuses")
    equal([program["signal"] for program in programs if program["signal"] is not None], [signal.SIGTERM], "signals")


def test_child_in_its_parents_memory(r):
    _, session, _ = forking(r, "vm", "1")
    equal((session["children"], session["complete"]), ([], True), "session")
    contains(session["notes"][0], "is not followed: it runs in its parent's memory", "note")


def test_spawned_programs(r):
    """Children of vfork and posix_spawn are followed from the program on that they execute."""
    _, session, _ = run(r, [r.program("children_O1"), "spawn", "4"])
    expect_whole(session, 4)
    equal([status for _, _, status in fork_children(session)], [21] * 4, "statuses")
    equal([child["totals"]["events"] for child in session["children"]], [EVENTS_OF_A_CHILD] * 4, "events")
    missing = "import subprocess\ntry: subprocess.run(['./missing'])\nexcept OSError as error: print(error)"
    done, session, _ = run(r, python(missing), ["--allow-unarmed"])
    contains(done.stdout, "No such file", "the program's output")
    equal((done.returncode, session["children"], session["failed"]), (0, [], ""), "session")


def test_threads_beside_the_fork(r):
    _, session, _ = run(r, [r.program("children_O1"), "fork", "6"])
    expect_whole(session, 6)
    equal([child["totals"]["events"] for child in session["children"]], [EVENTS_OF_A_CHILD] * 6, "events")


def test_what_make_starts(r):
    r.write("Makefile", f"all: one two\none two:\n\t@cd . && {r.program('siblings_O1')}\n")
    done, session, _ = run(r, ["/usr/bin/make", "-j2"])
    equal(done.returncode, 23, f"status ({done.stderr})")
    equal([finding["alike"] for finding in session["findings"]], [6], "leaked objects")
    contains(done.stderr, "missing put in close_conn", "report")
    names = sorted(os.path.basename(child["program"]["executable"]) for child in session["children"])
    equal(names.count("session_siblings_O1"), 2, f"test programs among {names}")


def test_suite_of_libcheck(r):
    done = r.run(["--children", "--track", "json_object", "--json", "s.json"], [os.path.join(r.build, "tests", "runner", "runner_suite")])
    contains(done.stdout, "75%: Checks: 4, Failures: 1, Errors: 0", "the suite's own report")
    session = r.read_json("s.json")
    equal((done.returncode, session["program"]["exit_status"]), (23, 1), f"status ({done.stderr})")
    expect_whole(session, 4)
    equal([child["program"]["exit_status"] for child in session["children"]], [0, 0, 1, None], "statuses of the tests")
    equal(len(session["findings"]), 1, "findings")
    contains(done.stderr, "<- keeps", "report")


def test_files(r):
    files = ["--junit", "s.xml", "--sarif", "s.sarif", "--html", "s.html", "--save", "s.rh", "--source-root", os.path.dirname(SESSIONS)]
    _, session, _ = forking(r, "leak", "3", options=files)
    pids = [child["pid"] for child in session["children"]]
    with_leak = session["findings"][0]["processes"]
    suite = xml.parse(r.file("s.xml")).getroot().find("testsuite")
    equal((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("5", "1", "0"), "JUnit's counts")
    for pid in pids:
        contains(" ".join(case.get("name") for case in suite), f"(process {pid})", "JUnit's cases")
    sarif = r.read_json("s.sarif")["runs"][0]
    equal([call.get("processId") for call in sarif["invocations"]][1:], pids, "SARIF's invocations")
    result = sarif["results"][0]
    equal(pids[result["provenance"]["invocationIndex"] - 1], with_leak[0], "the result's invocation")
    equal(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "runner/forking.c", "place")
    with open(r.file("s.html"), encoding="utf-8") as file:
        data = page_data(file.read())
    equal([process["pid"] for process in data["processes"]][1:], pids, "the page's processes")
    equal((data["findings"][0]["pids"], len(data["objects"])), (with_leak, 1 + 3 + 1), "the page's finding, objects")
    tool = os.path.join(r.build, "bin", "refhist")
    for pid in pids:
        saved = subprocess.run([tool, r.file(f"s.rh.{pid}"), "leaks"], text=True, capture_output=True, check=True).stdout
        (contains if pid in with_leak else lacks)(saved, "1 conn leaked", f"history of {pid}")


def test_one_baseline(r):
    base = ["--baseline", "base.json"]
    done, _, _ = forking(r, "crash", "3", options=[*base, "--update-baseline"])
    contains(done.stderr, "base.json now has 1 finding", "report")
    done, session, _ = forking(r, "crash", "3", options=base)
    equal((done.returncode, session["failing"]), (0, 0), f"status ({done.stderr})")
    lacks(done.stderr, "no longer found", "report")
    r.write("suppressions", "leak:lose_one\nleak:nothing\n")
    done, session, _ = forking(r, "leak", "3", options=["--suppressions", "suppressions"])
    equal([finding["status"] for finding in session["findings"]], ["suppressed"], "findings")
    contains(done.stderr, "suppressions:2) matched nothing", "report")
    lacks(done.stderr, "suppression leak:lose_one", "report")


WAITS = """
import os, time
debugger = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("TracerPid:"))
if os.fork() == 0:
    print("ready", os.getpid(), flush=True)
    time.sleep(600)
print("parent", debugger, flush=True)
"""


def entry_of(pid, key):
    """The first word of an entry of /proc/PID/status; a zombie where there is no process, too."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(line.split()[1] for line in file if line.startswith(key + ":"))
    except FileNotFoundError:
        return "Z"


def start_waiting(r, *options):
    """A session whose program has ended, and whose child sleeps. Returns it and the child."""
    process = r.start(["--children", "--track", "malloc", "--json", "s.json", *options], python(WAITS))
    debugger, child = (int(line.split()[1]) for line in sorted(process.stdout.readline() for _ in range(2)))
    while os.path.exists(f"/proc/{debugger}"):  # it saves the program's history
        time.sleep(0.02)
    return process, child


def expect_child_cut_short(r, process, child, told):
    _, err = process.communicate(timeout=60)
    equal(process.returncode, 1, f"status ({err})")
    contains(err, f"process {child}: {told}", "report")
    session = r.read_json("s.json")
    equal((session["complete"], session["program"]["exit_status"]), (False, 0), "complete, status of the program")
    equal(entry_of(child, "State"), "Z", "state of the child, which has no parent any more")


def test_timeout(r):
    process, child = start_waiting(r, "--timeout", "8")
    expect_child_cut_short(r, process, child, "the program ran longer than 8 s")


def test_end_from_outside(r):
    process, child = start_waiting(r)
    process.send_signal(signal.SIGTERM)
    expect_child_cut_short(r, process, child, "refhist-run was terminated by signal 15")


def test_debugger_of_a_child_that_dies(r):
    process, child = start_waiting(r)
    os.kill(int(entry_of(child, "TracerPid")), signal.SIGKILL)
    expect_child_cut_short(r, process, child, "gdb left no history")


KILLS_THE_NURSERY = """
import glob, os, signal, sys, time
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
runner = parent(os.getppid())
for path in glob.glob("/proc/[0-9]*/cmdline"):
    pid = int(path.split("/")[2])
    try:
        if b"nursery.txt" in open(path, "rb").read() and parent(pid) == runner:
            os.kill(pid, signal.SIGKILL)
            print("killed", flush=True)
    except OSError:
        pass
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_nursery_that_dies(r):
    """Each child is given a debugger that starts then."""
    forking_program = os.path.join(r.build, "tests", "runner", "runner_forking")
    done, session, gets = run(r, python(KILLS_THE_NURSERY) + [forking_program, "clean", "3"])
    contains(done.stdout, "killed", "output")
    equal((session["complete"], len(session["children"])), (True, 3), "complete, children")  # notes tell of Python's stacks
    for child in session["children"]:
        expect_events(child, gets[child["pid"]])


def test_many_at_once(r):
    _, session, gets = forking(r, "clean", "24")
    expect_whole(session, 24)
    for child in session["children"]:
        expect_events(child, gets[child["pid"]])


def says_that_it_does_not(r):
    done, session, _ = forking(r, "leak", "2")
    equal((done.returncode, session["children"], session["findings"]), (0, [], []), f"session ({done.stderr})")
    contains(done.stderr, "note: --children: LLDB follows one side of a fork, GDB follows all (--debugger gdb)", "report")
    contains(done.stderr, "note: the program forked 2 times: what its children do is not recorded", "report")


if "lldb" in sys.argv:
    main({"test_lldb_follows_one_side": says_that_it_does_not})
main(globals())
