"""refhist in an editor that speaks the Debug Adapter Protocol.

usage: dap_tests.py --server gdb|lldb-dap --adapter PROGRAM --plugin FILE --page ide.md --build DIR --program json_client

--plugin is refhist.py or librefhist_lldb.so. Exits with 77, which ctest shows as skipped, where there is no such server.
"""

import argparse
import os
import re
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from dap_client import DapClient  # noqa: E402
from ide_page import launch_configuration, neovim_arguments  # noqa: E402

SECONDS = 100
SKIPPED = 77
LEAK = "refhist: leak: the program is about to end: 8 objects leaked"
TO_ZERO = "break-on-put-to-zero"


class Gdb:
    """`gdb -i=dap`: what prepares refhist is in the command line, or in .gdbinit."""

    def __init__(self, options):
        self._options = options

    def missing(self):
        version = subprocess.run([self._options.adapter, "--version"], capture_output=True, text=True, check=True).stdout
        if int(re.search(r"(\d+)\.\d+", version.splitlines()[0])[1]) >= 14:
            return None
        return f"{version.splitlines()[0]} has no DAP server: GDB 14 and newer have"

    def start(self, *commands):
        argv = [self._options.adapter, "-nx", "-q", "-i=dap", "-iex", "set debuginfod enabled off"]
        for command in (f"source {self._options.plugin}", *commands):
            argv += ["-ex", command]
        return argv, {"program": self._options.program}

    def start_as_documented(self):
        options = self._options
        argv = [options.adapter, "-nx", "-iex", "set debuginfod enabled off", *neovim_arguments(options.page, options.plugin)]
        return argv, {"program": options.program}

    def typed(self, command):
        return command

    def check_stop(self, client, stopped, reason):
        """The event itself carries the reason."""
        body = stopped["body"]
        assert body["reason"] == "breakpoint", stopped
        assert reason in body["description"] and reason in body["text"], stopped
        assert body["hitBreakpointIds"] == [], stopped
        client.wait_for_output(reason)


class LldbDap:
    """lldb-dap, which was named lldb-vscode before LLDB 18: initCommands run before there is a target."""

    def __init__(self, options):
        self._options = options
        self._has_text = os.path.basename(options.adapter).startswith("lldb-dap")

    def missing(self):
        return None if os.path.exists(self._options.adapter) else f"{self._options.adapter} is not there"

    def start(self, *commands):
        load = f"plugin load {self._options.plugin}"
        return [self._options.adapter], {"program": self._options.program, "initCommands": [load, *commands]}

    def start_as_documented(self):
        options = self._options
        return [options.adapter], launch_configuration(options.page, "lldb-dap", options.plugin, options.program)

    def typed(self, command):
        return command if self._has_text else "`" + command

    def check_stop(self, client, stopped, reason):
        """The event carries the reason in lldb-dap; lldb-vscode only prints it."""
        if self._has_text:
            assert reason in stopped["body"]["description"], stopped
        else:
            assert stopped["body"]["reason"] == "breakpoint", stopped
        client.wait_for_output(reason)


SERVERS = {"gdb": Gdb, "lldb-dap": LldbDap}


class Session:
    def __init__(self, server, options):
        self.server = server
        self.client = None
        self._options = options

    def launch(self, *commands, function=None):
        """Prepares refhist by these commands and runs the program; returns the number of a breakpoint at `function`."""
        return self._launch(self.server.start(*commands), function)

    def launch_as_documented(self):
        self._launch(self.server.start_as_documented())

    def _launch(self, how, function=None):
        argv, arguments = how
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self._options.build, "index-cache"))
        self.client = DapClient(argv, environment, SECONDS)
        return self.client.begin("launch", function, **arguments)

    def check_stop(self, reason):
        stopped = self.client.event("stopped", "terminated")
        assert stopped["event"] == "stopped", stopped
        self.server.check_stop(self.client, stopped, reason)
        return stopped["body"]["threadId"]

    def evaluate(self, command):
        """What the debug console of an editor does with a line that is typed."""
        return self.client.request("evaluate", expression=self.server.typed(command), context="repl")["result"]

    def functions(self, thread):
        frames = self.client.request("stackTrace", threadId=thread, startFrame=0, levels=20)["stackFrames"]
        return [frame["name"] for frame in frames]


def test_leak(session):
    """As docs/ide.md has it."""
    session.launch_as_documented()
    thread = session.check_stop(LEAK)
    assert "_exit" in session.functions(thread)[0], session.functions(thread)
    leaks = session.evaluate("refhist leaks")
    for part in ("8 json_object leaked: nothing points at them", "missing put in conn_close"):
        assert part in leaks, leaks
    assert "412 of 412" in session.evaluate("refhist check --stay"), "findings"
    session.client.disconnect()


def test_tracking_nothing(session):
    """The program runs to its end, and is not stopped on our account."""
    session.launch()
    assert session.client.event("stopped", "exited")["event"] == "exited"
    session.client.disconnect()


def test_each_stop_has_its_own_reason(session):
    session.launch("refhist track json_object", "refhist break-on-leak", "refhist break-on-put-to-zero")
    thread = session.check_stop(TO_ZERO)
    assert "json_object_put" in session.functions(thread)[0], session.functions(thread)
    session.evaluate("refhist break-on-put-to-zero delete 2")
    session.client.request("continue", threadId=thread)
    session.check_stop(LEAK)
    session.client.disconnect()


def test_many_stops(session):
    """Each stop is in front of a put, and the program is unharmed by it."""
    session.launch("refhist track json_object", "refhist break-on-put-to-zero")
    places = set()
    for _ in range(50):
        thread = session.check_stop(TO_ZERO)
        frame = session.client.request("stackTrace", threadId=thread, startFrame=0, levels=1)["stackFrames"][0]
        places.add((frame["name"], frame.get("instructionPointerReference")))
        session.client.request("continue", threadId=thread)
    session.check_stop(TO_ZERO)
    assert len(places) == 1, places
    session.evaluate("refhist break-on-put-to-zero delete 1")
    session.client.request("continue", threadId=thread)
    assert session.client.event("stopped", "exited")["body"].get("exitCode") == 0, "the program's end"
    session.client.wait_for_output("420 requests, 8 failed")
    session.client.disconnect()


def test_breakpoints_of_the_user(session):
    """They stop as ever, without a reason of ours; the client hears of no breakpoint but its own."""
    number = session.launch("refhist set backend breakpoint", "refhist track json_object", "refhist break-on-leak",
                            function="request_failed")
    stopped = session.client.event("stopped")["body"]
    assert stopped["reason"] in ("breakpoint", "function breakpoint"), stopped
    assert "refhist" not in stopped.get("description", "") + stopped.get("text", ""), stopped
    told = {event["body"]["breakpoint"]["id"] for event in session.client.events("breakpoint")}
    assert told <= {number}, (told, number)
    session.client.disconnect()


def run_test(options, test):
    session = Session(SERVERS[options.server](options), options)
    try:
        test(session)
        return True
    except Exception:
        traceback.print_exc()
        if session.client is not None:
            print("--- transcript ---", *session.client.transcript, "--- end ---", sep="\n")
        return False
    finally:
        if session.client is not None:
            session.client.destroy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", choices=SERVERS, required=True)
    for name in ("--adapter", "--plugin", "--page", "--build", "--program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    missing = SERVERS[options.server](options).missing()
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    tests = [test for name, test in globals().items() if name.startswith("test_") and options.only in (None, name)]
    failed = [test.__name__ for test in tests if not run_test(options, test)]
    print(f"{len(tests)} tests, failed: {failed}")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
