"""Runs one program under refhist-run and compares what it says with what is known of the program."""

import dataclasses
import json
import os
import subprocess
import tempfile
import time

# The verdicts that say so. An object that is given back too often can show as any of the second ones.
SURPLUS = {"leak"}
DEFICIT = {"over-put", "use-after-free", "resurrection", "free-while-referenced", "second-owner"}
# What `refhist-run --fail-on` counts when it is not said: leak and imbalance.
FAILING = SURPLUS | DEFICIT
UNDECIDED = {"undecidable", "unobserved-change"}
_BY_COUNTS = {"surplus": SURPLUS, "deficit": DEFICIT, "none": FAILING}
_LIMIT = 120  # seconds for a program that runs for less than one without a debugger


@dataclasses.dataclass
class Run:
    """What refhist-run said of one program."""
    status: int
    said: str
    seconds: float
    session: dict

    @property
    def findings(self):
        return self.session.get("findings", [])

    @property
    def failing(self):
        return [finding for finding in self.findings if finding["verdict"] in FAILING]

    @property
    def failed(self):
        """Why the session proves nothing; None when it does."""
        if self.status in (0, 23) and self.session.get("complete"):
            return None
        return (self.said.strip().splitlines() or [f"status {self.status}"])[-1]


def run(runner, debugger, tracking, program, cwd=None, env=None):
    """`runner` and `program` are lists of words."""
    with tempfile.TemporaryDirectory(prefix="refhist-accuracy-") as folder:
        report = os.path.join(folder, "report.json")
        command = [*runner, "--debugger", debugger, *tracking, "--json", report, "--", *program]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_LIMIT,
                                  stdin=subprocess.DEVNULL, cwd=cwd or folder, env=env)
            status, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            status, said = 1, f"no end after {_LIMIT} seconds"
        seconds = time.monotonic() - begin
        try:
            with open(report, encoding="utf-8") as file:
                session = json.load(file)
        except (OSError, ValueError):
            session = {}
    return Run(status, said, seconds, session)


@dataclasses.dataclass
class Outcome:
    """One case in one debugger: the wrong program and its right twin."""
    case: object
    debugger: str
    failed: str = ""  # why one of the two sessions proves nothing
    found: bool = False
    told: int = 0  # objects that the findings on the wrong program are about
    first: bool = False  # the first suspect is a right place
    three: bool = False  # one of the first three is
    named: str = ""  # the first suspect's confidence, when it is more than a candidate
    accused: tuple = ()  # verdicts on the right twin that fail a check
    undecided: int = 0  # lines of `undecidable` and `unobserved-change` on the right twin
    seconds: float = 0.0  # of the slower of the two
    suspects: tuple = ()  # as told, in order
    verdicts: tuple = ()  # on the wrong program

    @property
    def too_many(self):
        return self.case.objects is not None and self.told > self.case.objects

    @property
    def silent(self):
        return not self.failed and not self.verdicts


def _place(suspect, lines):
    file, line = os.path.basename(suspect["file"] or ""), suspect["line"]
    if lines is not None and not line and suspect.get("offset"):
        file, line = lines.place(suspect["function"], suspect["offset"])
    return suspect["function"], file, line, suspect["confidence"], suspect["what"], suspect["why"]


def _suspects(findings, lines):
    """In the order in which they are told, each place once."""
    places = []
    for finding in findings:
        for suspect in finding["suspects"]:
            place = _place(suspect, lines)
            if all(place[:3] != other[:3] for other in places):
                places.append(place)
    return places


def _is_right(case, place):
    _, file, line, *_ = place
    return file == os.path.basename(case.source) and line in case.guilty | case.accepted


def _beyond(wrong, right):
    """The findings on the wrong program that the right twin does not have as well."""
    known = {finding["fingerprint"] for finding in right}
    return [finding for finding in wrong if finding["fingerprint"] not in known]


def judge(case, debugger, wrong, right, lines=None):
    """`lines`: as lines.Lines, of a program without debug information."""
    outcome = Outcome(case, debugger, seconds=max(wrong.seconds, right.seconds))
    outcome.failed = wrong.failed or right.failed or ""
    outcome.accused = tuple(finding["verdict"] for finding in right.failing)
    outcome.undecided = sum(1 for finding in right.findings if finding["verdict"] in UNDECIDED)
    told = _beyond(wrong.findings, right.findings)
    failing = [finding for finding in told if finding["verdict"] in FAILING]
    outcome.verdicts = tuple(finding["verdict"] for finding in told)
    found = [finding for finding in failing if finding["verdict"] in _BY_COUNTS[case.counts]]
    if case.kind == "second-owner":
        found = failing
    if case.kind in ("held", "cycle"):
        found += [finding for finding in told if finding["verdict"] == "held"]
    outcome.found = bool(found)
    outcome.told = sum(finding["alike"] for finding in failing)
    places = _suspects(found, lines)
    outcome.suspects = tuple(places)
    if places:
        outcome.first = _is_right(case, places[0])
        outcome.three = any(_is_right(case, place) for place in places[:3])
        outcome.named = places[0][3] if places[0][3] != "candidate" else ""
    return outcome
