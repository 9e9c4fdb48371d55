"""make fleet-demo: three commits of the demo client, 40 runs in a database, and what it answers. usage: demo.py BUILD

The first commit never gives its greeting back; the second one keeps a reply now and then; the third one gives the greeting back
and forgets a reply on its error path (that is tests/demo/json_client.c). The database is a PostgreSQL of the distribution in a
scratch folder, and goes away at the end.
"""

import os
import shlex
import subprocess
import sys
import tempfile

from fleet_harness import Fleet
from server import Server

_DEMO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "demo", "json_client.c")
_RUNS = (12, 14, 14)
_FORGETS = "if (reply_status(reply)[0] != 'o') return request_failed(conn, reply);\n"
_GIVES_BACK = "if (reply_status(reply)[0] != 'o') {\n    json_object_put(kept);\n    return request_failed(conn, reply);\n  }\n"
_GREETING = ('__attribute__((noinline)) static struct json_object *greet(void) {\n  return json_object_new_string("hello");\n}\n\n'
             "int main(void) {\n  struct json_object *greeting = greet();\n  puts(json_object_get_string(greeting));\n")
_FLAKY = ("// A reply that comes while another one is being read.\n__attribute__((noinline)) static void note_late(struct json_object *reply) {\n"
          "  static int late;\n  if (getpid() % 3 == 0 && late++ == 0) json_object_get(reply);\n}\n\n")


def _commits():
    """The client's source after each commit, with its message."""
    with open(_DEMO, encoding="utf-8") as file:
        last = file.read()
    first = last.replace(_FORGETS, _GIVES_BACK).replace("int main(void) {\n", _GREETING)
    second = first.replace("#include <stdlib.h>\n", "#include <stdlib.h>\n#include <unistd.h>\n")
    second = second.replace("__attribute__((noinline)) static struct json_object *greet", _FLAKY + "__attribute__((noinline)) static struct json_object *greet")
    second = second.replace("    json_object_put(reply);\n    conn_close", "    note_late(reply);\n    json_object_put(reply);\n    conn_close")
    third = second.replace(_GIVES_BACK, _FORGETS).replace('requests, %d failed\\n", CONNECTIONS, failed);\n', 'requests, %d failed\\n", CONNECTIONS, failed);\n  json_object_put(greeting);\n')
    return [(first, "A client"), (second, "Note replies that come late"), (third, "Give the greeting back, and keep the reply of a failed request")]


def _git(folder, *words):
    when = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    done = subprocess.run(["git", "-c", "user.name=demo", "-c", "user.email=demo@example.org", "-c", "init.defaultBranch=main", *words], cwd=folder,
                          check=True, text=True, stdout=subprocess.PIPE, env={**os.environ, **when})
    return done.stdout.strip()


def _commit(folder, source, message):
    with open(os.path.join(folder, "client.c"), "w", encoding="utf-8") as file:
        file.write(source)
    _git(folder, "add", "client.c")
    _git(folder, "commit", "-q", "-m", message)
    subprocess.run(["gcc", "-g", "-O1", "client.c", "-o", "client", "-ljson-c"], cwd=folder, check=True)
    return _git(folder, "rev-parse", "HEAD")


def _run(f, folder, commit):
    done = subprocess.run([os.path.join(f.build, "bin", "refhist-run"), "--track", "json_object", "--branch", "main", "--commit", commit, "--run-name",
                           "client", "--send-history", "on-findings", "--", "./client"], cwd=folder, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False, env={**f.environment, "REFHIST_SEND": f.server.url("sender")})
    if "sent as run" not in done.stderr:
        sys.exit(f"a run was not sent:\n{done.stderr}")


def _show(f, *words, user="reader"):
    print(f"\n$ refhist fleet {' '.join(shlex.quote(word) for word in words)}", flush=True)
    done = f.refhist("fleet", *words, user=user)
    print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}")


def _answers(f):
    named = {one["title"].split(" born in ")[1].split(" ")[0] + one["place"]: one["fingerprint"] for one in f.ask("findings", "--all")["findings"]}
    new = next(fingerprint for key, fingerprint in named.items() if "handle_reply" in key)
    flaky = next(fingerprint for key, fingerprint in named.items() if "note_late" in key)
    fixed = next(fingerprint for key, fingerprint in named.items() if key.startswith(("greet", "main")))
    runs = [run["run"][:8] for run in f.ask("runs", "--last", "100")["runs"]]
    _show(f, "findings", "--all")
    _show(f, "show", new)
    for fingerprint in (new, flaky, fixed):
        _show(f, "since", fingerprint)
    _show(f, "growth")
    _show(f, "runs", "--last", "5")
    _show(f, "compare", runs[-1], runs[0])
    _show(f, "accept", flaky, "--why", "the protocol changes in March", user="triage")
    _show(f, "findings")
    _show(f, "history", runs[0], "-o", "newest.rh")
    print("\n$ refhist newest.rh | head -3\n" + "".join(f.refhist("newest.rh").stdout.splitlines(keepends=True)[:3]), end="")


def main(build):
    build = os.path.abspath(build)
    server = Server()
    try:
        with tempfile.TemporaryDirectory(prefix="refhist-fleet-demo-") as folder:
            f = Fleet(build, server, folder)
            f.environment["REFHIST_PROJECT"] = "demo"
            f.new_database()
            repository = f.file("client")
            os.mkdir(repository)
            _git(repository, "init", "-q")
            for number, (source, message) in zip(_RUNS, _commits()):
                commit = _commit(repository, source, message)
                print(f"{commit[:12]} {message}: {number} runs", flush=True)
                for _ in range(number):
                    _run(f, repository, commit)
            _answers(f)
    finally:
        server.stop()


main(*sys.argv[1:])
