"""Right programs that count in unusual ways: refhist must accuse none of them (README.md has the form)."""

import dataclasses
import os
import re
import subprocess

import judge

_KEY = re.compile(r"^\s*(?:/\*|\*)\s*(summary|track|build):\s*(.*?)\s*$")


@dataclasses.dataclass(frozen=True)
class Right:
    name: str
    source: str
    summary: str
    track: str
    build: str  # for a shell, in the folder of the source; OUT is the program's path
    theme = "rights"

    def tracking(self):
        words = self.track.split()
        own = ["--probes", os.path.splitext(self.source)[0] + ".toml"] if words[0] == "own" else []
        return own + [word for family in words[len(own) // 2:] for word in ("--track", family)]


@dataclasses.dataclass
class Verdicts:
    """What refhist says of one of them in one debugger."""
    right: Right
    debugger: str
    failed: str
    accused: tuple  # verdicts that fail a check
    undecided: int  # lines of `undecidable` and `unobserved-change`


def read_all(folder):
    return [_read(os.path.join(folder, file)) for file in sorted(os.listdir(folder)) if file.endswith((".c", ".cpp"))]


def _read(path):
    with open(path, encoding="utf-8") as file:
        head = file.read().split("*/")[0]
    known = {found[1]: found[2] for found in map(_KEY.match, head.splitlines()) if found}
    return Right(os.path.splitext(os.path.basename(path))[0], path, **known)


def verdicts_of(right, chosen, folder):
    """One for each debugger."""
    program = os.path.join(folder, right.name + ".right")
    built = subprocess.run(right.build.replace("OUT", program), shell=True, cwd=os.path.dirname(right.source),
                           capture_output=True, text=True)
    if built.returncode:
        return [Verdicts(right, debugger, built.stderr.strip()[:200], (), 0) for debugger in chosen.debuggers]
    return [_judge(right, debugger, judge.run(chosen.runner, debugger, right.tracking(), [program]))
            for debugger in chosen.debuggers]


def _judge(right, debugger, run):
    accused = tuple(sorted(finding["verdict"] for finding in run.failing))
    undecided = sum(finding["verdict"] in judge.UNDECIDED for finding in run.findings)
    return Verdicts(right, debugger, run.failed or "", accused, undecided)


def text(all_verdicts):
    """The lines of the report."""
    lines = ["### right programs", ""]
    for debugger in sorted({one.debugger for one in all_verdicts}):
        told = [one for one in all_verdicts if one.debugger == debugger]
        accused = [one for one in told if one.accused]
        lines.append(f"- {debugger}: {len(accused)} of {len(told)} accused; {sum(one.undecided for one in told)} lines of "
                     f"`undecidable` and `unobserved-change` in {sum(one.undecided > 0 for one in told)}; "
                     f"{sum(bool(one.failed) for one in told)} failed")
        lines += [f"  - {one.right.name}: {', '.join(one.accused)}" for one in accused]
        lines += [f"  - {one.right.name}: failed: {one.failed}" for one in told if one.failed]
    return "\n".join(lines) + "\n"
