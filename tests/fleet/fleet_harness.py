"""What the tests of the fleet share: a database with its roles, runs to send, questions, the list of tests."""

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sessions"))

from harness.checks import check, contains, equal, lacks  # noqa: E402, F401: for the tests
from harness.each_test import run_each  # noqa: E402
from server import Server  # noqa: E402

FINDING = "ca52defb94995cb8"
DETAIL = {"verdict": "leak", "family": "conn", "title": "leak of conn born in serve (a.c:3)", "place": "serve (a.c:5)", "why": "",
          "lines": ["1 conn leaked: nothing points at it", "  born in serve (a.c:3) by conn_new"], "suspects": [],
          "example": {"object": "conn 0x1000", "size": 8, "events": [{"seq": 1, "line": "#1 init -> 1 conn_new <- serve (a.c:3)", "role": "init",
                      "stack": ["conn_new (conn.c:3)", "serve (a.c:3)"], "before": None, "after": 1}], "events_not_listed": 0, "references": [1]},
          "sources": [{"file": "a.c", "first": 2, "line": 3, "lines": ["{", "  struct conn *c = conn_new();", "}"]}]}
_START = int(time.time() * 1e6) - 3600 * 10**6


class Fleet:
    """The database, and refhist with a state folder of its own."""

    def __init__(self, build, server, folder):
        self.build, self.server, self.folder = build, server, folder
        self.sent = 0
        self.program = os.path.join(build, "core", "refhist-fleet")
        self.environment = {**os.environ, "XDG_STATE_HOME": self.file("state"), "REFHIST_PROJECT": "p"}
        for name in ("REFHIST_SEND", "REFHIST_FLEET", "CI_COMMIT_SHA", "GITHUB_SHA"):
            self.environment.pop(name, None)

    def new_database(self, schema=""):
        self.server.sql("DROP DATABASE IF EXISTS fleet", "CREATE DATABASE fleet OWNER owner")
        done = self.refhist("fleet", "migrate", user="owner", REFHIST_SCHEMA=schema)
        equal(done.returncode, 0, done.stdout + done.stderr)
        for user in ("sender", "reader", "triage"):
            self.server.sql(f"DO $$ BEGIN CREATE ROLE {user} LOGIN IN ROLE refhist_{user}; EXCEPTION WHEN duplicate_object THEN NULL; END $$")

    def file(self, name):
        return os.path.join(self.folder, name)

    def refhist(self, *words, user="reader", **environment):
        target = {"REFHIST_FLEET": self.server.url(user), "REFHIST_SEND": self.server.url("sender")}
        return subprocess.run([os.path.join(self.build, "bin", "refhist"), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.environment, **target, **environment}, cwd=self.folder, timeout=60, stdin=subprocess.DEVNULL, check=False)

    def ask(self, *words, user="reader", **environment):
        """The answer as JSON."""
        done = self.refhist("fleet", *words, "--json", user=user, **environment)
        equal(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def says(self, *words, user="reader"):
        done = self.refhist("fleet", *words, user=user)
        equal(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def record(self, findings=((FINDING, 1),), places=(), **header):
        """A run, a minute later than the one before."""
        self.sent += 1
        run = {"protocol": 1, "project": "p", "name": "suite", "branch": "main", "commit": "c1", "labels": {}, "host": "h", "pid": 100,
               "debugger": "gdb", "refhist": "0.1.0", "program": "/bin/suite", "arguments": "suite", "started_us": _START + self.sent * 10**6,
               "seconds": 1.5, "exit_status": 0, "signal": None, "events": 10, "objects": 3, "live": 1, "lost_events": 0, "complete": True,
               "failed": "", "failing": len(findings), **header}
        return {"schema": "refhist-fleet-run/1", "run": run,
                "findings": [{"fingerprint": name, "alike": alike, "detail": copy.deepcopy(DETAIL)} for name, alike in findings],
                "places": [{"place": {"family": "conn", "by": "conn_new", "function": name, "file": "a.c"}, "numbers": list(numbers)}
                           for name, numbers in places]}

    def spooled(self, record, target=None):
        """Puts a record where refhist-run would. Returns its path."""
        folder = self.spool(target)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{time.time_ns():020}-{os.getpid()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        return path

    def spool(self, target=None):
        hashed = 0xcbf29ce484222325
        for byte in (target or self.server.url("sender")).encode():
            hashed = (hashed ^ byte) * 0x100000001b3 % 2**64
        return os.path.join(self.file("state"), "refhist", "spool", f"{hashed:016x}")

    def waiting(self):
        folder = self.spool()
        return sorted(name for name in os.listdir(folder) if name.endswith(".json")) if os.path.isdir(folder) else []

    def deliver(self, path, **environment):
        return subprocess.run([self.program, "deliver", path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env={**self.environment, "REFHIST_SEND": self.server.url("sender"), **environment}, check=False)

    def send(self, record=None, **header):
        done = self.deliver(self.spooled(record or self.record(**header)))
        equal(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def server_answer(self, record):
        """All that the database says of a run."""
        path = self.spooled(record)
        rows = "".join(self.deliver(path).stdout)
        return rows

    def folder_write(self, name, text):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)

    def refhist_run(self, options, program=None, **environment):
        """refhist-run --send with a program that leaks."""
        program = program or [os.path.join(self.build, "tests", "sessions", "session_siblings_O1")]
        track = ["--track", "--init conn_new --get conn_get --put conn_put --free conn_free --count refs"]
        return subprocess.run([os.path.join(self.build, "bin", "refhist-run"), "--debugger", self.debugger, *track, *options, "--", *program], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder, timeout=120, check=False,
                              env={**self.environment, "REFHIST_SEND": self.server.url("sender"), **environment})

    def start_deliver(self, path):
        return subprocess.Popen([self.program, "deliver", path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.environment, "REFHIST_SEND": self.server.url("sender")})


def main(module):
    """Runs the functions test_… of a module, each with an empty database on one server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--debugger", default="gdb")
    parser.add_argument("--only")
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.path.join(options.build, "index-cache")
    server = Server(module.get("SETTINGS", ()))

    def attempt(test):
        with tempfile.TemporaryDirectory(prefix="refhist-fleet-test-") as folder:
            fleet = Fleet(options.build, server, folder)
            fleet.debugger = options.debugger
            fleet.new_database()
            test(fleet)

    try:
        run_each(module, options.only, attempt)
    finally:
        server.stop()
