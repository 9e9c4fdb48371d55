"""The man pages: troff warns of nothing, and every option and command of the programs is there. usage: manpages.py BUILD"""

import os
import shutil
import subprocess
import sys

_ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANPAGER": "cat", "MAN_KEEP_FORMATTING": ""}


def words_of(build, program, *before):
    said = subprocess.run([os.path.join(build, "bin", program), "--complete", *before], text=True, check=True, stdout=subprocess.PIPE)
    return [word for word in said.stdout.split() if word != "--"]


def main(build):
    if shutil.which("man") is None:
        print("skipped: there is no man (Debian: the package man-db)")
        return
    problems = []
    for program, words in (("refhist-run", words_of(build, "refhist-run", "--")), ("refhist", words_of(build, "refhist", "FILE", ""))):
        page = os.path.join(build, "docs", "man", f"{program}.1")
        done = subprocess.run(["man", "--warnings", "-l", page], text=True, check=False, capture_output=True, env=_ENVIRONMENT)
        if done.returncode != 0 or done.stderr:
            problems.append(f"man -l {page} says: {done.stderr}")
        shown = done.stdout.split()
        problems += [f"{page} has no {word}" for word in words if word not in shown]
        if not words:
            problems.append(f"{program} tells of nothing")
    if problems:
        sys.exit("\n".join(problems))


main(*sys.argv[1:])
