"""refhist in a GDB that an editor drives through GDB/MI.

usage: mi_tests.py --gdb PROGRAM --page ide.md --build DIR --program json_client
"""

import argparse
import json
import os
import pty
import subprocess
import sys
import termios
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from ide_page import launch_configuration  # noqa: E402
from mi_client import MiClient  # noqa: E402

SECONDS = 100
REASON = "refhist: leak: the program is about to end: 8 objects leaked"


class Session:
    """One GDB, started as an editor starts it."""

    def __init__(self, options, *arguments, beside_console=False):
        self._options = options
        argv = [options.gdb, "-nx", "-q", "-iex", "set debuginfod enabled off", *arguments]
        environment = dict(os.environ, TERM="dumb", XDG_CACHE_HOME=os.path.join(options.build, "index-cache"))
        self._files = []
        if beside_console:
            ours, name = self._terminal()
            argv += ["-ex", f"new-ui mi {name}"]
            reader = writer = ours
        self.gdb = subprocess.Popen([*argv, options.program], env=environment, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        if not beside_console:
            reader, writer = self.gdb.stdout.fileno(), self.gdb.stdin.fileno()
        self.mi = MiClient(reader, writer, SECONDS)

    def _terminal(self):
        ours, theirs = pty.openpty()
        self._files += [ours, theirs]
        settings = termios.tcgetattr(theirs)
        settings[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        return ours, os.ttyname(theirs)

    def prepare(self):
        """Runs the `setupCommands` of docs/ide.md, as Visual Studio Code does."""
        options = self._options
        self.mi.wait(r"\(gdb\)")
        configuration = launch_configuration(options.page, "cppdbg", f"{options.build}/gdb/refhist.py", options.program)
        for command in configuration["setupCommands"]:
            self.mi.console(command["text"])

    def end(self):
        """Returns what GDB has written beside the records that were read."""
        self.mi.send("-gdb-exit")
        return self.gdb.communicate(timeout=SECONDS)[0].decode()

    def destroy(self):
        if self.gdb.poll() is None:
            os.killpg(self.gdb.pid, 9)
            self.gdb.wait()
        for file in self._files:
            os.close(file)


def check_stop(session):
    """The stop of a rule has a reason, a thread and a frame."""
    stopped = session.mi.wait(r"\*stopped")
    for part in ('reason="breakpoint-hit"', 'thread-id="1"', 'frame={', '_exit",args='):
        assert part in stopped, (part, stopped)


def check_reason(session):
    """Why it stopped is said in the console's stream, and where GDB can, in a record of its own."""
    if REASON not in session.mi.printed():
        session.mi.wait('~"' + REASON)
    if "True" in session.mi.console("python print(hasattr(gdb, 'notify_mi'))"):
        records = [line for line in session.mi.transcript if line.startswith("=refhist-stopped,")]
        assert len(records) == 1 and f'reason="{REASON}' in records[0], records


def check_leaks(session):
    groups = json.loads(session.mi.console("refhist leaks --json"))["leaks"]
    leaked = [group for group in groups if group["reach"] == "unreachable"]
    assert [len(group["objects"]) for group in leaked] == [8], groups


def run_to_leak(session, told=True):
    session.prepare()
    session.mi.command("-exec-run")
    check_stop(session)
    if told:
        check_reason(session)
    check_leaks(session)


def test_mi(start):
    session = start("-i=mi")
    run_to_leak(session)
    session.mi.command("-exec-continue")
    assert 'reason="exited-normally"' in session.mi.wait(r"\*stopped")
    session.end()


def test_other_spellings(start):
    for words in (["--interpreter", "mi2"], ["--interp=mi3"], ["-i", "mi"]):
        session = start(*words)
        run_to_leak(session)
        session.end()


def test_mi_beside_a_console(start):
    """As Eclipse CDT starts GDB: the console for the person, and a second interface for the editor."""
    session = start("-i", "console", beside_console=True)
    run_to_leak(session, told=False)
    assert REASON in session.end(), "what the console shows"


def test_error(start):
    session = start("-i=mi")
    session.prepare()
    session.mi.send('-interpreter-exec console "refhist untrack nothing_of_that_name"')
    record = session.mi.wait(r"\^")
    assert record.startswith('^error,msg="') and "nothing_of_that_name" in record, record
    session.end()


def test_a_breakpoint_of_the_user(start):
    """Its stop is the user's own: no reason of refhist's in it."""
    session = start("-i=mi")
    session.prepare()
    session.mi.command("-break-insert request_failed")
    session.mi.command("-exec-run")
    stopped = session.mi.wait(r"\*stopped")
    assert 'bkptno="1"' in stopped and 'func="request_failed"' in stopped, stopped
    assert "refhist: leak" not in session.mi.printed()
    session.mi.command("-break-delete 1")
    session.mi.command("-exec-continue")
    check_stop(session)
    check_reason(session)
    session.end()


def run_test(options, test):
    sessions = []

    def start(*arguments, **how):
        sessions.append(Session(options, *arguments, **how))
        return sessions[-1]

    try:
        test(start)
        return True
    except Exception:
        traceback.print_exc()
        for session in sessions:
            print("--- transcript ---", *session.mi.transcript, "--- end ---", sep="\n")
        return False
    finally:
        for session in sessions:
            session.destroy()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--gdb", "--page", "--build", "--program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    options.build, options.program = os.path.abspath(options.build), os.path.abspath(options.program)
    tests = [test for name, test in globals().items() if name.startswith("test_") and options.only in (None, name)]
    failed = [test.__name__ for test in tests if not run_test(options, test)]
    print(f"{len(tests)} tests, failed: {failed}")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
