"""History files that somebody made to hurt whoever opens them: each is refused in one line, or every report of it ends, within a limit of
memory and of time and without control characters. They are made out of good files with SQL."""

import argparse
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

MEMORY = 2 << 30  # bytes of address space
SECONDS = 60
LARGEST_OUTPUT = 500 << 20
REPORTS = ([], ["leaks", "--json"], ["leaks", "--stacks", "full", "--reachable"], ["status", "--sites"], ["status", "--json"],
           ["objects", "--all"], ["objects", "--all", "--json"], ["usage"], ["usage", "--json"], ["check", "--stay", "--reachable"],
           ["check", "--json", "--reachable"], ["balance", "*"], ["balance", "*", "--json"], ["diff"], ["snapshot", "--list"],
           *(["export", "{out}", "--format", format] for format in ("json", "junit", "sarif", "html", "folded", "sqlite")))
QUICK = ([], ["leaks", "--json"], ["objects", "--all", "--json"], ["balance", "*"],
         *(["export", "{out}", "--format", format] for format in ("sarif", "html")))
EVIL = "x\x1b]0;owned\x07\r\n\x7f\x9b\u202e\u2066\u200f\ufffe\uffff\x01<!--]]></script>'\"&"
TEXTS = {"families": "name origin type counter_note births_note part_of", "sites": "function why_not why_breakpoint", "threads": "name",
         "frame_names": "function file", "modules": "path", "notes": "line", "snapshots": "name", "mistakes": "why", "reach": "place",
         "folded_places": "made_by function file module", "folded_owners": "place function file module", "object_notes": "note",
         "lost_frames": "called runs", "managed": "type"}


def deep_stacks(file, depth):
    """One chain of callers, which all events have."""
    last = file.execute("SELECT max(id) FROM stacks").fetchone()[0]
    frame = file.execute("SELECT frame FROM frame_names LIMIT 1").fetchone()[0]
    file.executemany("INSERT INTO stacks VALUES(?, ?, ?, 0)", ((last + i, last + i - 1 if i > 1 else None, frame) for i in range(1, depth + 1)))
    file.execute("UPDATE origins SET stack = ? WHERE stack IS NOT NULL", (last + depth,))


def deep_names(file, names):
    """As many functions inlined into each other, at each frame of every stack."""
    frames = [row[0] for row in file.execute("SELECT id FROM frames")]
    file.executemany("INSERT INTO frame_names VALUES(NULL, ?, ?, 'a.c', 1, 1)", ((frames[0], f"f{i}") for i in range(names)))
    file.execute("UPDATE stacks SET frame = ?", (frames[0],))


def deep_and_many(file):
    """Long stacks of which each has an end of its own, as deep as they may be."""
    deep_stacks(file, 4000)
    last = file.execute("SELECT max(id) FROM stacks").fetchone()[0]
    frames = file.execute("SELECT max(id) FROM frames").fetchone()[0]
    file.executemany("INSERT INTO stacks VALUES(?, ?, ?, 0)", ((last + 1 + i, last, i % frames) for i in range(3000)))
    file.execute("UPDATE origins SET stack = ? + id % 3000 WHERE stack IS NOT NULL", (last,))


def cycle_of_parents(file):
    file.execute("UPDATE stacks SET parent = (SELECT max(id) FROM stacks) WHERE id = (SELECT min(id) FROM stacks)")


def own_parent(file):
    file.execute("UPDATE stacks SET parent = id")


def replace_table(file, table, change):
    sql = file.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    file.execute("PRAGMA writable_schema = ON")
    file.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (change(sql), table))


def generated_columns(file):
    """A name of a hundred megabytes that takes no byte in the file."""
    rows = file.execute("SELECT id, frame, file, line, inlined FROM frame_names").fetchall()
    file.execute("DROP TABLE frame_names")
    file.execute("CREATE TABLE frame_names(id INTEGER PRIMARY KEY, frame INTEGER, file TEXT, line INTEGER, inlined INTEGER)")
    file.executemany("INSERT INTO frame_names VALUES(?, ?, ?, ?, ?)", rows)
    # Behind the rows: sqlite would make the name for each that is put in.
    file.execute("ALTER TABLE frame_names ADD COLUMN function TEXT GENERATED ALWAYS AS (hex(zeroblob(50000000))) VIRTUAL")


def view(file):
    """Rows without end."""
    file.execute("DROP TABLE notes")
    file.execute("CREATE VIEW notes(id, line) AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i, 'note' FROM n")


def view_beside(file):
    file.execute("CREATE VIEW more AS SELECT * FROM notes")


def trigger(file):
    file.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM meta; END")


def virtual_table(file):
    file.execute("DROP TABLE notes")
    file.execute("CREATE VIRTUAL TABLE notes USING fts5(id, line)")


def default_expression(file):
    replace_table(file, "notes", lambda sql: sql.replace("line TEXT", "line TEXT DEFAULT (hex(zeroblob(9)))"))


def huge_ids(file, first):
    """Few objects with numbers far apart."""
    count = file.execute("SELECT count(*) FROM objects").fetchone()[0]
    ids = [row[0] for row in file.execute("SELECT id FROM objects ORDER BY id DESC")]
    for i, number in enumerate(ids):
        file.execute("UPDATE objects SET id = ? WHERE id = ?", (first - 70000 * i, number))
    file.execute("UPDATE meta SET value = ? WHERE key = 'objects'", (first + 1,))
    for table in ("object_notes", "managed", "reach", "cycle_members", "cycle_steps", "mistakes", "folded_events"):
        file.execute(f"DELETE FROM {table}")
    assert count == len(ids)


def objects_apart(file):
    """Each object in a stretch of numbers of its own."""
    columns = [row[1] for row in file.execute("PRAGMA table_info(objects)")]
    row = dict(zip(columns, file.execute("SELECT * FROM objects LIMIT 1").fetchone()))
    file.execute("DELETE FROM objects")
    for table in ("object_notes", "managed", "reach", "cycle_members", "cycle_steps", "mistakes", "folded_events"):
        file.execute(f"DELETE FROM {table}")
    row.update(events=0, born=None, birth_origin=None, died=None, first_event=None, last_event=None, generation=1)
    places = ", ".join("?" * len(columns))
    file.executemany(f"INSERT INTO objects VALUES({places})", (list(dict(row, id=300 * i, address=64 * i).values()) for i in range(60000)))
    file.execute("UPDATE meta SET value = 18000000 WHERE key = 'objects'")


def moments_and_places(file, count):
    """Places times moments, of which the file has no row."""
    columns = [row[1] for row in file.execute("PRAGMA table_info(folded_places)")]
    file.execute("DELETE FROM folded_places")
    file.execute("DELETE FROM folded_moments")
    for table in ("folded_live", "folded_kinds", "folded_counts"):
        file.execute(f"DELETE FROM {table}")
    zeros = dict.fromkeys(columns, 0)
    file.executemany(f"INSERT INTO folded_places VALUES({', '.join('?' * len(columns))})",
                     (list(dict(zeros, id=i, function=f"f{i}", made_by="m", file="", module="").values()) for i in range(count)))
    events = file.execute("SELECT value FROM meta WHERE key = 'events'").fetchone()[0]
    file.executemany("INSERT INTO folded_moments VALUES(?, ?)", ((i, i) for i in range(min(count, events))))


def huge_numbers(file):
    for table in ("objects", "families", "sites", "folded_places"):
        for column in ("size", "events", "count", "generation", "hits", "null_calls", "objects", "bytes", "peak"):
            try:
                file.execute(f"UPDATE {table} SET {column} = 9223372036854775807")
            except sqlite3.OperationalError:
                pass  # not a column of this table


def negative_counts(file):
    file.execute("UPDATE objects SET count = -9223372036854775807 - 1, before_seen = -9223372036854775807 - 1, size = -1")
    file.execute("UPDATE folded_places SET objects = -5, bytes = -9223372036854775807 - 1, peak = -1")


def evil_texts(file):
    for table, columns in TEXTS.items():
        for column in columns.split():
            file.execute(f"UPDATE {table} SET {column} = ? || {column}", (EVIL,))
    file.execute("UPDATE meta SET value = ? WHERE key IN ('executable', 'arguments')", (EVIL,))


def bytes_that_are_no_text(file):
    for table, columns in TEXTS.items():
        for column in columns.split():
            file.execute(f"UPDATE {table} SET {column} = CAST(x'61ff00c0aeeda08062f4908080e2' AS TEXT)")


def nul_in_names(file):
    file.execute("UPDATE frame_names SET function = 'a' || char(0) || 'b', file = char(0)")


def long_names(file):
    file.execute("UPDATE frame_names SET function = ? || id", ("n" * 20000,))


def long_thread_name(file):
    file.execute("UPDATE threads SET name = ?", ("t" * 10_000_000,))


def giant_blob(file):
    file.execute("UPDATE event_pages SET blocks = zeroblob(30000000)")


def events_that_are_not_there(file):
    file.execute("UPDATE meta SET value = 4294967290 WHERE key = 'events'")


def many_families(file):
    """As many as there can be, with an object each at one address."""
    family = list(file.execute("SELECT * FROM families LIMIT 1").fetchone())
    begin = file.execute("SELECT max(id) + 1 FROM families").fetchone()[0]
    file.executemany(f"INSERT INTO families VALUES({', '.join('?' * len(family))})", ([i, *family[1:]] for i in range(begin, 30000)))


def shared_overflow(path):
    """A table whose pages lead back to each other: one child of its root stands there many times."""
    with sqlite3.connect(path) as file:
        file.executemany("INSERT INTO notes VALUES(NULL, ?)", (("n" * 300,) for _ in range(3000)))
        root = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'notes'").fetchone()[0]
        size = file.execute("PRAGMA page_size").fetchone()[0]
    with open(path, "r+b") as raw:
        raw.seek((root - 1) * size)
        page = bytearray(raw.read(size))
        assert page[0] == 5, "an interior page of a table"
        cells = [int.from_bytes(page[12 + 2 * i:14 + 2 * i], "big") for i in range(int.from_bytes(page[3:5], "big"))]
        for cell in cells:
            page[cell:cell + 4] = page[cells[0]:cells[0] + 4]
        raw.seek((root - 1) * size)
        raw.write(page)


def truncated(path):
    os.truncate(path, os.path.getsize(path) // 2)


CHANGES = {
    "deep stacks": lambda file: deep_stacks(file, 100_000),
    "stacks as deep as they may be": lambda file: deep_stacks(file, 4000),
    "many deep stacks": deep_and_many,
    "deep names": lambda file: deep_names(file, 50_000),
    "names of frames": lambda file: deep_names(file, 1000),
    "a cycle of parents": cycle_of_parents,
    "stacks that are their own parents": own_parent,
    "generated columns": generated_columns,
    "a view": view,
    "a view beside": view_beside,
    "a trigger": trigger,
    "a virtual table": virtual_table,
    "a default": default_expression,
    "huge ids": lambda file: huge_ids(file, (1 << 32) - 10),
    "large ids": lambda file: huge_ids(file, 1 << 30),
    "objects apart": objects_apart,
    "moments and places": lambda file: moments_and_places(file, 30_000),
    "huge numbers": huge_numbers,
    "negative counts": negative_counts,
    "evil texts": evil_texts,
    "bytes that are no text": bytes_that_are_no_text,
    "NUL in names": nul_in_names,
    "long names": long_names,
    "a long name of a thread": long_thread_name,
    "a giant blob": giant_blob,
    "events that are not there": events_that_are_not_there,
    "many families": many_families,
}
# The limit of memory ends these, in one line.
MAY_RUN_OUT = {"names of frames", "long names"}
RAW_CHANGES = {"pages that lead back": shared_overflow, "half a file": truncated}
REFUSED = {"deep stacks", "deep names", "generated columns", "a view", "a view beside", "a trigger", "a virtual table", "a default",
           "a cycle of parents", "stacks that are their own parents", "a giant blob", "events that are not there", "half a file",
           "pages that lead back", "a long name of a thread", "moments and places"}
EITHER = {"huge numbers", "evil texts", "bytes that are no text", "NUL in names"}  # where one word becomes that of another row
OF_FOLDED = {"moments and places"}


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_OUTPUT, LARGEST_OUTPUT))


# Characters that mean something to a terminal, or turn text around.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def controls_in(text):
    return sorted({f"U+{ord(c):04X}" for c in set(CONTROLS.findall(text))})


class Attempt:
    def __init__(self, program, name, path, folder):
        self.program, self.name, self.path, self.folder = program, name, path, folder
        self.failures = []
        self.refused = False

    def run(self, report):
        out, said = os.path.join(self.folder, "out"), os.path.join(self.folder, "said")
        argv = [self.program, self.path, *(word.format(out=out) for word in report)]
        try:
            with open(said, "wb") as file:
                done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, timeout=SECONDS, check=False,
                                      preexec_fn=limits)
        except subprocess.TimeoutExpired:
            self.failures.append(f"{' '.join(report)}: not done after {SECONDS} s")
            return
        self.judge(report, done, said)
        if os.path.exists(out):
            if report[-1] not in ("sqlite", "html"):
                self.look_at(report, out)
            os.remove(out)

    def judge(self, report, done, said):
        if done.returncode not in (0, 1, 23):
            self.failures.append(f"{' '.join(report)}: status {done.returncode}: {done.stderr[-200:]}")
        if done.stderr and done.stderr.count(b"\n") != 1:
            self.failures.append(f"{' '.join(report)}: an error of more than one line: {done.stderr[:300]}")
        if b"cannot be opened" in done.stderr:
            self.refused = True
        if b"bad_alloc" in done.stderr or (b"more memory" in done.stderr and self.name not in MAY_RUN_OUT):
            self.failures.append(f"{' '.join(report)}: out of memory")
        if controls := controls_in(done.stderr.decode(errors="replace")):
            self.failures.append(f"{' '.join(report)}: its error has {controls}")
        if b"its stacks are too long" not in done.stderr and b"more memory" not in done.stderr:
            self.look_at(report, said)

    def look_at(self, report, path):
        with open(path, "rb") as file:
            text = file.read()
        try:
            controls = controls_in(text.decode())
        except UnicodeDecodeError as error:
            controls = [str(error)]
        if controls:
            self.failures.append(f"{' '.join(report)}: has {controls}")


def make(name, base, path):
    shutil.copyfile(base, path)
    if name in RAW_CHANGES:
        RAW_CHANGES[name](path)
        return
    file = sqlite3.connect(path)
    CHANGES[name](file)
    file.commit()
    file.close()


def test_file(program, name, base, folder, reports):
    path = os.path.join(folder, "hostile.rh")
    make(name, base, path)
    attempt = Attempt(program, name, path, folder)
    for report in reports:
        attempt.run(report)
        if attempt.refused or attempt.failures:
            break
    if name not in EITHER and attempt.refused != (name in REFUSED):
        attempt.failures.append("refused" if attempt.refused else "not refused")
    os.remove(path)
    return attempt.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--base", required=True)
    parser.add_argument("--folded", required=True)
    parser.add_argument("--only")
    parser.add_argument("--quick", action="store_true", help="some of the reports, each in one of the two good files")
    options = parser.parse_args()
    failed = False
    for name in [*CHANGES, *RAW_CHANGES]:
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory(prefix="refhist-hostile-") as folder:
            bases = [options.folded] if name in OF_FOLDED else [options.base, options.folded]
            failures = []
            for number, base in enumerate(bases):
                reports = QUICK[number::len(bases)] if options.quick else REPORTS
                failures += test_file(options.program, name, base, folder, reports)
        failed = failed or bool(failures)
        print(f"{'FAILED' if failures else 'passed'}: {name}", *failures, sep="\n    ", flush=True)
    sys.exit(1 if failed else 0)


main()
