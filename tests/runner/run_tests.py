"""refhist-run as CI uses it, with GDB and with LLDB. usage: run_tests.py --debugger gdb|lldb --build DIR [--only test_x]"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

from runner_harness import CONN, SESSIONS, check, contains, equal, main, many_objects, page_data, python

# The exit status


def test_findings(r):
    done = r.run(["--track", CONN], [r.program("siblings_O1")])
    equal(done.returncode, 23, f"status ({done.stderr})")
    contains(done.stderr, "missing put in close_conn", "report")
    contains(done.stderr, "refhist check: 1 finding, 1 failing the check", "report")


def test_clean(r):
    done = r.run(["--track", CONN], [r.program("lifecycle_O1")])
    equal((done.returncode, done.stdout), (0, "done 1\n"), f"status and output ({done.stderr})")
    equal(r.run(["--track", CONN, "--quiet"], [r.program("lifecycle_O1")]).stderr, "", "standard error with --quiet")


def test_a_crash_over_a_dead_object(r):
    theme = "--init theme_new --get theme_get --put theme_put --count refs"
    done = r.run(["--track", theme, "--json", "s.json"], [r.program("crash_cause_O2"), "member"])
    equal(done.returncode, 23, f"status ({done.stderr})")
    contains(done.stderr, "used after its memory was freed, 0 bytes into it: SIGSEGV", "report")
    told = r.read_json("s.json")
    equal(told["program"]["signal"], int(signal.SIGSEGV), "end in the report")
    equal([finding["references"][-1]["role"] for finding in told["findings"]], ["use"], "the event")
    done = r.run(["--track", theme], [r.program("crash_cause_O2"), "other"])
    equal(done.returncode, 0, "status of another crash")
    contains(done.stderr, "0 findings, 0 failing the check; the program was killed by SIGSEGV", "what is said of it")


def test_a_use_that_only_reads(r):
    badge = "--init badge_new --get badge_get --put badge_put --count refs"
    done = r.run(["--track", badge], [r.program("quarantine_O2"), "late"])
    equal(done.returncode, 23, f"status ({done.stderr})")
    contains(done.stderr, "late use in print_and_drop", "report")
    equal(r.run(["--track", badge, "--quarantine", "off"], [r.program("quarantine_O2"), "late"]).returncode, 0, "status without quarantine")
    done = r.run(["--track", badge, "--json", "s.json"], [r.program("quarantine_O2"), "many"])
    equal((done.returncode, done.stdout.split()[-1]), (0, "done"), f"a program that frees many blocks ({done.stderr})")
    done = r.run(["--track", badge], [r.program("quarantine_O2"), "ended"])
    equal((done.returncode, done.stdout.split()[-1]), (0, "done"), f"a program that frees more than is withheld ({done.stderr})")
    contains(done.stderr, "note: quarantine has ended: ", "what is said of that")


def test_findings_that_do_not_count(r):
    options = ["--track", CONN, "--fail-on", "imbalance"]
    equal(r.run(options, [r.program("siblings_O1")]).returncode, 0, "status without leaks")
    options = ["--track", CONN, "--family", "other*"]
    equal(r.run(options, [r.program("siblings_O1")]).returncode, 0, "status of another family")


def test_wrong_usage(r):
    for argv, told in [([], "usage: refhist-run [OPTIONS] -- PROGRAM [ARGS]"), (["--trak", "x", "--", "true"], "did you mean --track?"),
                       (["--track"], "--track needs a value"),
                       (["--track", "x", "--fail-on", "leek", "--", "true"], "did you mean leak?"),
                       (["--track", "x", "--timeout", "soon", "--", "true"], "number of seconds"),
                       (["--track", "x", "--debugger", "dbx", "--", "true"], "gdb or lldb"),
                       (["--track", "x", "--update-baseline", "--", "true"], "--baseline FILE"),
                       (["--track", "x", "--quarantine", "9G", "--", "true"], "1M to 64M, not 9G"),
                       (["--track", "x", "--quiet=yes", "--", "true"], "takes no value"),
                       (["--track", "x", "--", "no-such-program"], "no such program"),
                       (["--track", "x", "--", "/etc/passwd"], "not executable")]:
        done = subprocess.run([r.path, *argv], text=True, capture_output=True, check=False)
        equal(done.returncode, 2, f"status of {argv} ({done.stderr})")
        contains(done.stderr, told, f"answer to {argv}")
        equal((done.stdout, len(done.stderr.splitlines())), ("", 1), f"lines of the answer to {argv}")


def test_help(r):
    done = subprocess.run([r.path, "--help"], text=True, capture_output=True, check=False)
    equal(done.returncode, 0, "status")
    contains(done.stdout, "--propagate-exit", "help")
    contains(subprocess.run([r.path, "--version"], text=True, capture_output=True, check=False).stdout, "refhist-run 0.",
             "version")


def test_session_that_failed(r):
    done = r.run(["--track", "--get nothing_get --put nothing_put"], [r.program("lifecycle_O1")])
    equal(done.returncode, 1, "status")
    contains(done.stderr, "no function of the tracked families was ever armed", "report")
    done = r.run(["--track", CONN], [r.program("lifecycle_O1")], env=dict(os.environ, REFHIST_GDB="/nowhere", REFHIST_LLDB="/nowhere"))
    equal(done.returncode, 1, "status")
    contains(done.stderr, "was not found: install" if r.debugger == "gdb" else "lldb was not found: install", "report")
    done = r.run(["--track", CONN, "--baseline", "none.json"], [r.program("lifecycle_O1")])
    equal(done.returncode, 1, "status")
    contains(done.stderr, "none.json: No such file or directory (--update-baseline creates it)", "report")


def test_files_that_will_not_do(r):
    """Told before the program runs, and what cannot be written in the end does not take the report along."""
    r.write("bad.txt", "leek:*\n")
    r.write("bad.json", "{")
    os.mkdir(r.file("folder"))
    for option, value, told in [("--json", "none/x.json", "none/x.json could not be written: No such file or directory"),
                                ("--save", "folder", "folder could not be written: it is not a regular file"),
                                ("--junit", "/proc/x.xml", "/proc/x.xml could not be written"),
                                ("--log", "none/log.txt", "none/log.txt could not be written"),
                                ("--suppressions", "bad.txt", "leek"), ("--baseline", "bad.json", "bad.json")]:
        done = r.run(["--track", "malloc", option, value], ["/bin/echo", "has run"])
        equal((done.returncode, done.stdout), (1, ""), f"end with {option} {value} ({done.stderr})")
        contains(done.stderr, told, f"answer to {option} {value}")
        equal(len(done.stderr.splitlines()), 1, f"lines of the answer to {option} {value}")
    code = "import os; os.rmdir('later'); print('has run')"
    os.mkdir(r.file("later"))
    done = r.run(["--track", "malloc", "--json", "later/x.json"], python(code))
    equal((done.returncode, done.stdout), (1, "has run\n"), "end without its folder")
    contains(done.stderr, "refhist check: 0 findings", "report")
    contains(done.stderr, "later/x.json could not be written: No such file or directory", "report")


def test_words_that_the_debugger_refuses(r):
    for option, value, told in [("--track", "json_objekt", "did you mean json_object?"),
                                ("--track", "--get con_get --put conn_put", "no function con_get"),
                                ("--set", "keep=some", "keep must be all or live or suspect, not some")]:
        tracked = [] if option == "--track" else ["--track", CONN]
        done = r.run([option, value, *tracked], [r.program("lifecycle_O1")])
        equal(done.returncode, 2, f"status ({done.stderr})")
        contains(done.stderr, f"refhist-run: {option} ", "which words")
        contains(done.stderr, told, "the debugger's own message")
        equal((done.stdout, len(done.stderr.splitlines())), ("", 1), "lines")


def test_track_auto(r):
    """Without --track: the program's own counted type is found, and the family of its library."""
    for program, family in (("siblings_O1", "conn"), ("demo", "json_object")):
        path = r.program(program) if program != "demo" else os.path.join(r.build, "tests", "demo", "json_client")
        done = r.run(["--json", "s.json"], [path])
        equal(done.returncode, 23, done.stderr)
        session = r.read_json("s.json")
        equal({(f["verdict"], f["object"]["family"]) for f in session["findings"]}, {("leak", family)}, "findings")
        equal(session["complete"], True, "complete")
        equal(r.run(["--fail-on", "none"], [path]).returncode, 0, "status with --fail-on none")


def test_exit_status_of_the_program(r):
    options = ["--track", CONN, "--propagate-exit", "--json", "s.json"]
    equal(r.run(options, [r.program("lifecycle_O1")]).returncode, 3, "status")
    equal(r.read_json("s.json")["program"]["exit_status"], 3, "status in the report")
    equal(r.run(options, [r.program("siblings_O1")]).returncode, 23, "status with findings")
    equal(r.run(options, [r.program("lifecycle_O1"), "crash"]).returncode, 128 + signal.SIGSEGV, "status after a crash")
    told = r.read_json("s.json")
    equal((told["program"]["exit_status"], told["program"]["signal"]), (None, int(signal.SIGSEGV)), "end in the report")
    equal(told["findings"], [], "a crash finds what the program still reaches")
    equal(r.run(["--track", "malloc", "--propagate-exit", "--quiet"], ["/bin/kill", "-h"]).returncode,
          subprocess.run(["/bin/kill", "-h"], capture_output=True, check=False).returncode, "status of kill")


# The program has what it has without a debugger


def both(r, program, options=(), **more):
    """What the program prints by itself and under refhist-run."""
    alone = subprocess.run(program, text=True, cwd=r.folder, capture_output=True, check=False,
                           **{"stdin": subprocess.DEVNULL, **more})
    inside = r.run(["--track", "malloc", "--quiet", *options], program, **more)
    return (alone.stdout, alone.stderr), (inside.stdout, inside.stderr)


def test_standard_files(r):
    program = python("import sys; print('out', sys.stdin.read()); print('err', file=sys.stderr)")
    for input_text in ("", "some\nlines\n"):
        alone, inside = both(r, program, stdin=None, input=input_text)
        equal(inside, alone, "output")
    with open(r.file("out.txt"), "a+", encoding="utf-8") as file:
        file.write("before\n")
        file.flush()
        subprocess.run(r.argv(["--track", "malloc", "--quiet"], ["/bin/echo", "behind"]), stdout=file, check=False)
    equal(open(r.file("out.txt"), encoding="utf-8").read(), "before\nbehind\n", "file that is written at its end")


def test_closed_standard_files(r):
    for closed in ("<&- >&-", "<&-", "2>&-"):
        told = []
        for words in (["/bin/echo", "x"], r.argv(["--track", "malloc", "--quiet"], ["/bin/echo", "x"])):
            shell = " ".join(f"'{word}'" for word in words)
            done = subprocess.run(["/bin/sh", "-c", f"{shell} {closed}"], text=True, capture_output=True, check=False)
            told.append((done.stdout, done.stderr))
        equal(told[1], told[0], f"output of echo {closed}")


def test_arguments_and_environment(r):
    words = ["a b", "$HOME", '"q"', "it's", "*", "", "-x", "--", "\\", "ü\n"]
    alone, inside = both(r, python("import sys; print(sys.argv[1:])") + words)
    equal(inside, alone, "arguments")
    odd = {"PATH": os.environ["PATH"], "LINES": "7", "SHELL": "/bin/odd", "EMPTY": "", "Q": "a'b\"c\n", "TERM": "x", "LD_BIND_NOW": ""}
    program = python("import os; print(sorted(os.environ.items()))")
    alone, inside = both(r, program, env=odd)
    equal(inside, alone, "environment")


SURROUNDINGS = """
import os, resource, signal
status = {line.split(":")[0]: line.split()[1:] for line in open("/proc/self/status")}
files = {int(n): os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")}
print(os.getcwd(), os.umask(0o77), os.getpgrp(), os.getsid(0), os.nice(0))
print([(key, status[key]) for key in ("SigBlk", "SigIgn", "SigCgt", "Groups", "CapEff", "NoNewPrivs")])
print([resource.getrlimit(which) for which in range(16)])
print(sorted((n, name) for n, name in files.items() if "fd" not in name and "pipe" not in name), sorted(n for n, name in files.items() if "pipe" in name))
"""


def test_surroundings(r):
    alone, inside = both(r, python(SURROUNDINGS))
    equal(inside, alone, "surroundings")


def be_unusual():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM, signal.SIGCHLD, 34, 64])
    os.umask(0o027)
    os.nice(2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, 888))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test_unusual_surroundings(r):
    """As nohup, daemons and make's job server leave them."""
    files = [os.open("/etc/hostname", os.O_RDONLY), *os.pipe()]
    os.dup2(files[0], 99)
    more = {"preexec_fn": be_unusual, "pass_fds": [files[1], 99], "restore_signals": False}
    alone, inside = both(r, ["/usr/bin/python3", "-S", "-c", SURROUNDINGS], **more)
    contains(alone[0], "/etc/hostname", "what the program prints by itself")
    equal(inside, alone, "surroundings")
    for file in (*files, 99):
        os.close(file)


def test_address_randomisation(r):
    code = 'print([line.split()[0] for line in open("/proc/self/maps") if "[stack]" in line])'
    for options, least, most in ((["--aslr"], 2, 3), ([], 1, 1)):
        told = {r.run(["--track", "malloc", "--quiet", *options], python(code)).stdout for _ in range(3)}
        check(least <= len(told) <= most, f"stacks with {options}: {told}")


def test_hang_up_under_nohup(r):
    """Whoever ignores the end of the terminal has asked for a run to its end."""
    code = "import os, time; open('ready', 'w'); time.sleep(1); print('to its end')"
    process = r.start(["--track", "malloc", "--quiet"], python(code), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while not os.path.exists(r.file("ready")):
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    equal(process.communicate(timeout=60)[0], "to its end\n", "output")


def test_signals_arrive(r):
    trap = "" if r.debugger == "lldb" else ", 5"  # LLDB keeps SIGTRAP to itself
    code = (f"import os, signal\nseen = []\nfor s in (1, 2, 10, 12, 14, 15, 17{trap}):\n"
            "    signal.signal(s, lambda n, f: seen.append(int(n)))\n    os.kill(os.getpid(), s)\n    print(s, seen[-1:], flush=True)")
    alone, inside = both(r, python(code))
    equal(inside, alone, "signals")


def test_trap(r):
    """The program goes on or dies, but never hangs."""
    done = r.run(["--track", "malloc", "--propagate-exit", "--quiet"], python("import os; os.kill(os.getpid(), 5)"))
    equal(done.returncode, 0 if r.debugger == "lldb" else 128 + 5, "status")


def test_interrupt_from_the_terminal(r):
    """Ctrl-C is for the program: it may handle it and go on."""
    code = ("import signal, time\n"
            "def hear(*_):\n    global heard\n    heard = True\n"
            "heard = False\nsignal.signal(signal.SIGINT, hear)\nprint('ready', flush=True)\n"
            "while not heard: time.sleep(0.01)\nprint('heard', flush=True)")
    process = r.start(["--track", "malloc", "--quiet", "--json", "s.json"], python(code), start_new_session=True)
    equal(process.stdout.readline(), "ready\n", "first line")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    equal((out, err), ("heard\n", ""), "output after Ctrl-C")
    equal(r.read_json("s.json")["program"]["exit_status"], 0, "exit status")


# Sessions that end too early


def expect_cut_short(r, process, told):
    out, err = process.communicate(timeout=60)
    equal(process.returncode, 1, f"status ({out} {err})")
    contains(err, told, "report")
    session = r.read_json("s.json")
    equal(session["complete"], False, "complete")
    contains(session["failed"], told, "why it failed")
    return session


WAITS = ("import ctypes, time\nprint('ready', flush=True)\ntime.sleep(600)")


def test_timeout(r):
    process = r.start(["--track", "malloc", "--timeout", "1.5", "--json", "s.json"], python(WAITS))
    expect_cut_short(r, process, "the program ran longer than 1.5 s")


def test_end_from_outside(r):
    process = r.start(["--track", "malloc", "--json", "s.json"], python(WAITS))
    equal(process.stdout.readline(), "ready\n", "first line")
    process.send_signal(signal.SIGTERM)
    expect_cut_short(r, process, "refhist-run was terminated by signal 15")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def descendants_of(pid):
    return [below for child in children_of(pid) for below in (child, *descendants_of(child))]


def test_debugger_that_dies(r):
    process = r.start(["--track", "malloc", "--json", "s.json"], python(WAITS))
    equal(process.stdout.readline(), "ready\n", "first line")
    for child in children_of(process.pid):
        os.kill(child, signal.SIGKILL)
    expect_cut_short(r, process, f"{r.debugger} left no history")


def test_program_that_is_killed(r):
    """Not by us: the session is whole, but what was outstanding is no leak."""
    process = r.start(["--track", CONN, "--json", "s.json"], [r.program("lifecycle_O1"), "x", r.file("fifo")])
    os.mkfifo(r.file("fifo"))
    with open(r.file("fifo"), encoding="ascii") as file:
        equal(file.read(1), "r", "the program's word")
    session_pid = None
    for _ in range(200):
        found = subprocess.run(["/usr/bin/pgrep", "-f", r.file("fifo")], text=True, capture_output=True, check=False).stdout
        pids = [int(pid) for pid in found.split() if "session_lifecycle" in os.readlink(f"/proc/{pid}/exe")]
        if pids:
            session_pid = pids[0]
            break
        time.sleep(0.05)
    os.kill(session_pid, signal.SIGKILL)
    process.communicate(timeout=60)
    session = r.read_json("s.json")
    equal((session["program"]["signal"], session["complete"], [f["verdict"] for f in session["findings"]]),
          (int(signal.SIGKILL), True, ["undecidable"]), "session")


def test_functions_of_a_library(r):
    """They are not there when the program begins."""
    client = os.path.join(r.build, "tests", "demo", "json_client")
    done = r.run(["--track", "--init json_object_new_* --get json_object_get --put json_object_put", "--json", "s.json"], [client])
    equal((done.returncode, r.read_json("s.json")["program"]["argv"]), (23, [client]), f"status, argv ({done.stderr})")
    contains(done.stderr, "missing put in conn_close", "report")


# What is accepted


def test_baseline(r):
    options = ["--track", CONN, "--baseline", "base.json", "--json", "s.json"]
    done = r.run([*options, "--update-baseline"], [r.program("siblings_O1")])
    equal(done.returncode, 0, f"status with --update-baseline ({done.stderr})")
    contains(done.stderr, "base.json now has 1 finding", "report")
    equal(r.run(options, [r.program("siblings_O1")]).returncode, 0, "status with the baseline")
    equal([f["status"] for f in r.read_json("s.json")["findings"]], ["known"], "findings")
    done = r.run(options, [r.program("leak_at_end_O1")])
    equal(done.returncode, 23, "status of another program")
    contains(done.stderr, "in the baseline, but no longer found: leak of conn born in open_conn", "report")
    other = r.write("wrong.json", "{}")
    done = r.run(["--track", CONN, "--baseline", other], [r.program("siblings_O1")])
    equal(done.returncode, 1, "status with a file that is no baseline")
    contains(done.stderr, "is not a baseline", "report")


def test_baseline_of_a_client_with_many_leaks(r):
    """Eight replies of json-c leak at one place; they are one entry of the baseline, and another place is new."""
    client = os.path.join(r.build, "tests", "demo", "json_client")
    options = ["--track", "json_object", "--baseline", "base.json", "--json", "s.json"]
    equal(r.run([*options, "--update-baseline"], [client]).returncode, 0, "status with --update-baseline")
    equal(len(r.read_json("base.json")["findings"]), 1, "entries")
    equal(r.run(options, [client]).returncode, 0, "status with the baseline")
    session = r.read_json("s.json")
    equal([(finding["status"], finding["alike"]) for finding in session["findings"]], [("known", 8)], "findings")
    source = os.path.join(os.path.dirname(SESSIONS), "demo", "json_client.c")
    with open(source, encoding="utf-8") as file:
        r.write("other.c", file.read().replace("int failed = 0;", 'int failed = 0;\n  json_object_new_string("lost");'))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "json-c"], text=True, capture_output=True, check=True).stdout.split()
    subprocess.run(["gcc", "-g", "-O1", "other.c", "-o", "other", *flags], cwd=r.folder, check=True)
    done = r.run(options, [r.file("other")])
    equal(done.returncode, 23, f"status of the client with another leak ({done.stderr})")
    equal(sorted(finding["status"] for finding in r.read_json("s.json")["findings"]), ["known", "new"], "findings")


def test_fingerprints_outlive_changes(r):
    """Other lines, other addresses, another folder: the same finding."""
    with open(os.path.join(SESSIONS, "siblings.c"), encoding="utf-8") as file:
        source = file.read()
    changed = "static int more(int x) { return x * 3; }\n\n\n" + source.replace("int main(", "int unused_global[1000] = {1};\nint main(")
    changed = changed.replace("static int more", "__attribute__((used)) static int more")
    r.write("moved.c", changed)
    build = ["gcc", "-g", "-O1", "-I", SESSIONS, "moved.c", os.path.join(SESSIONS, "conn.c"), "-o", "moved"]
    subprocess.run(build, cwd=r.folder, check=True)
    prints = []
    for program in (r.program("siblings_O1"), r.file("moved")):
        r.run(["--track", CONN, "--json", "s.json"], [program])
        prints.append([finding["fingerprint"] for finding in r.read_json("s.json")["findings"]])
    equal(len(prints[0]), 1, "findings")
    equal(prints[1], prints[0], "fingerprints")


def test_suppressions(r):
    def with_lines(lines, program="siblings_O1"):
        path = r.write("suppressions", lines)
        return r.run(["--track", CONN, "--suppressions", path, "--json", "s.json"], [r.program(program)])

    for lines in ("leak:open_conn\n", "# why\nleak:open_*n$  # that\n", "leak:^main$", "leak:siblings.c", "leak:session_siblings",
                  "*:open_conn", "leak:nothing\nleak:open_conn"):
        done = with_lines(lines)
        equal(done.returncode, 0, f"status with {lines!r} ({done.stderr})")
        equal([f["status"] for f in r.read_json("s.json")["findings"]], ["suppressed"], f"findings with {lines!r}")
    contains(done.stderr, "suppression leak:nothing", "report of what has matched nothing")
    for lines in ("leak:^conn$", "over-put:open_conn", "imbalance:open_conn", ""):
        equal(with_lines(lines).returncode, 23, f"status with {lines!r}")
    for lines, told in (("nonsense\n", "is not a suppression"), ("leek:x", "did you mean leak?"), ("leak:", "is not a suppression")):
        done = with_lines(lines)
        equal(done.returncode, 1, f"status with {lines!r}")
        contains(done.stderr, told, "error")
        contains(done.stderr, "suppressions:1", "error")


# Reports


def test_reports(r):
    files = ["--json", "s.json", "--junit", "s.xml", "--sarif", "s.sarif", "--save", "s.rh", "--source-root", SESSIONS]
    done = r.run(["--track", CONN, *files], [r.program("siblings_O1")])
    equal(done.returncode, 23, f"status ({done.stderr})")
    session = r.read_json("s.json")
    equal(list(session)[-1], "complete", "last key")
    equal((session["schema"], session["complete"], session["totals"]["lost_events"]), ("refhist/1", True, 0), "session")
    equal(session["program"]["argv"], [r.program("siblings_O1")], "argv")
    finding = session["findings"][0]
    expect_junit(r, finding)
    expect_sarif(r, finding)
    script = r.write("open.txt", f"refhist open {r.file('s.rh')}\nrefhist leaks\n")
    extension = os.path.join(r.build, "gdb", "refhist.py")
    text = subprocess.run(["gdb", "-nx", "-batch", "-x", extension, "-x", script], text=True, capture_output=True, check=False).stdout
    contains(text, "3 conn leaked", "the saved history")


def expect_junit(r, finding):
    root = xml.parse(r.file("s.xml")).getroot()
    suite = root.find("testsuite")
    equal((root.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")), ("testsuites", "2", "1", "0"), "counts")
    cases = suite.findall("testcase")
    equal([len(case.findall("failure")) for case in cases], [0, 1], "failures")
    equal((cases[1].get("file"), cases[1].get("line")), ("siblings.c", "19"), "place")
    contains(cases[1].get("name"), finding["fingerprint"], "name")
    contains(cases[1].find("failure").text, "missing put in close_conn", "failure")


def expect_sarif(r, finding):
    sarif = r.read_json("s.sarif")
    equal(sarif["version"], "2.1.0", "version")
    run = sarif["runs"][0]
    result = run["results"][0]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    equal((rule["id"], result["ruleId"], result["level"]), ("leak", "leak", "error"), "rule")
    place = result["locations"][0]["physicalLocation"]
    equal((place["artifactLocation"], place["region"]["startLine"]),
          ({"uri": "siblings.c", "uriBaseId": "SRCROOT"}, 19), "place")
    equal(run["originalUriBaseIds"]["SRCROOT"]["uri"], f"file://{SESSIONS}/", "root")
    equal(result["partialFingerprints"], {"refhist/1": finding["fingerprint"]}, "fingerprint")
    equal((run["invocations"][0]["executionSuccessful"], run["invocations"][0]["exitCode"]), (True, 0), "invocation")


def test_page(r):
    r.run(["--track", CONN, "--html", "s.html", "--source-root", SESSIONS], [r.program("siblings_O1"), "</script><b>"])
    with open(r.file("s.html"), encoding="utf-8") as file:
        text = file.read()
    equal(re.findall(r'(?:src|href)="[^"]*"|url\(|https?://', text), [], "what the page would fetch")
    data = page_data(text)
    finding = data["findings"][0]
    equal((finding["title"], len(finding["objects"]), len(finding["events"])),
          ("leak of conn born in open_conn (siblings.c:4)", 3, 4), "finding")
    equal((finding["sources"][0]["file"], finding["sources"][0]["line"]), ("siblings.c", 19), "source")
    contains(finding["sources"][0]["lines"][19 - finding["sources"][0]["first"]], "open_conn(id);", "source line")
    equal((len(data["objects"]), data["objects_left"]), (23, 0), "objects")
    contains(data["title"], "</script><b>", "title")


def test_page_with_many_objects(r):
    """Ten thousand objects: the page has them all."""
    many_objects(r)
    with open(r.file("s.html"), encoding="utf-8") as file:
        data = page_data(file.read())
    equal((len(data["objects"]), len(data["findings"][0]["objects"])), (10000, 5000), "objects, leaked ones")


def test_what_a_killed_session_left(r):
    """The next one removes it: not what is still in use, nor what somebody else has put there."""
    more = {"env": {**os.environ, "TMPDIR": r.file("tmp")}}
    os.mkdir(r.file("tmp"))
    processes = [r.start(["--track", "malloc", "--quiet"], python(WAITS), **more) for _ in range(2)]
    for process in processes:
        equal(process.stdout.readline(), "ready\n", "first line")
    below = descendants_of(processes[0].pid)
    for pid in [processes[0].pid, *below]:
        os.kill(pid, signal.SIGKILL)
    processes[0].wait()
    os.symlink("/etc", r.file("tmp/refhist-run-link"))
    before = [name for name in os.listdir(r.file("tmp")) if name.startswith("refhist-run-") and not name.endswith("link")]
    for name in before:
        os.utime(os.path.join(r.file("tmp"), name), (0, 0))
    r.run(["--track", "malloc", "--quiet"], ["/bin/true"], **more)
    left = [name for name in os.listdir(r.file("tmp")) if name.startswith("refhist-run-")]
    check(len(before) == 2 and len(left) == 2 and "refhist-run-link" in left, f"{left} of {before}")
    processes[1].send_signal(signal.SIGTERM)
    processes[1].communicate(timeout=60)


def test_many_at_once(r):
    started = [r.start(["--track", CONN, "--json", f"s{i}.json"], [r.program("siblings_O1")]) for i in range(4)]
    for i, process in enumerate(started):
        process.communicate(timeout=100)
        equal(process.returncode, 23, f"status of session {i}")
        equal(r.read_json(f"s{i}.json")["findings"][0]["alike"], 3, "leaked objects")


def test_without_a_debugger(r):
    """`refhist FILE` tells what the debuggers tell."""
    tool = os.path.join(r.build, "bin", "refhist")
    r.run(["--track", CONN, "--quiet", "--save", "s.rh"], [r.program("siblings_O1")])

    def say(*words):
        return subprocess.run([tool, *words], text=True, capture_output=True, check=False, cwd=r.folder)

    contains(say("s.rh").stdout, "3 conn leaked: nothing points at them", "leaks")
    leaked = json.loads(say("s.rh", "leaks", "--json").stdout)["leaks"][0]["objects"][0]["address"]
    contains(say("s.rh", leaked, "--stacks").stdout, "verdict: leak", "history")
    equal(say("s.rh", "check").returncode, 23, "status of check")
    equal(say("s.rh", "export", "out put.json", "--format", "json").returncode, 0, "status of export")
    equal(r.read_json("out put.json")["complete"], True, "exported session")
    done = say("s.rh", "conn")
    equal((done.returncode, done.stdout), (1, ""), "status of an expression")
    contains(done.stderr, "no debugger to evaluate it", "error")
    equal((say().returncode, say("none.rh").returncode), (2, 1), "status without a file")
    contains(say("none.rh").stderr, "none.rh: No such file or directory", "error")


def test_colour(r):
    """On a terminal, unless it is not wanted."""
    import pty

    def on_terminal(**environment):
        leader, follower = pty.openpty()
        process = r.start(["--track", CONN], [r.program("siblings_O1")], env=dict(os.environ, TERM="xterm", **environment),
                          **{"stderr": follower})
        process.wait(timeout=60)
        os.close(follower)
        text = os.read(leader, 65536).decode()
        os.close(leader)
        return text

    contains(on_terminal(), "\x1b[1;31mleak\x1b[0m: conn", "report")
    check("\x1b" not in on_terminal(NO_COLOR="1"), "colour with NO_COLOR")
    check("\x1b" not in r.run(["--track", CONN], [r.program("siblings_O1")]).stderr, "colour in a pipe")


def test_script_as_program(r):
    path = r.write("script.sh", "#!/bin/sh\necho from $0 \"$@\"\nexit 4\n")
    os.chmod(path, 0o755)
    done = r.run(["--track", "malloc", "--propagate-exit", "--quiet"], [path, "a b"])
    equal((done.returncode, done.stdout), (4, f"from {path} a b\n"), f"status and output ({done.stderr})")


main(globals())
