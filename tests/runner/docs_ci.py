"""Runs what docs/ci.md says, in a fresh folder. usage: docs_ci.py --debugger gdb|lldb --build DIR --page FILE

Blocks with a file's name after the language are written into that file, `sh` blocks are run (`exit=N`: the last command ends with N). Of
the workflows the steps run that install nothing."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import yaml


def blocks(page):
    """(language, rest of the line, text) of each fenced block."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def steps(name, text):
    """The commands of a workflow that need no network."""
    workflow = yaml.safe_load(text)
    if name == ".gitlab-ci.yml":
        commands = workflow["refhist"]["script"]
    else:
        commands = [step["run"] for step in workflow["jobs"]["refhist"]["steps"]
                    if "run" in step and not step["name"].startswith("Install")]
    assert commands, name
    return "\n".join(commands)


def run(script, folder, environment, expected):
    done = subprocess.run(["/bin/sh", "-e", "-c", script], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200, check=False)
    print(f"--- {done.returncode}\n{script}\n{done.stdout}", flush=True)
    assert done.returncode == expected, f"{done.returncode} instead of {expected}"
    return done.stdout


def check_report(shown, told):
    """The report that the page shows is the one that comes, but for what differs from run to run."""
    def normal(text):
        text = re.sub(r"0x[0-9a-f]+", "ADDR", text)
        text = re.sub(r"\[[0-9a-f]{16}\]", "[PRINT]", text)
        text = re.sub(r"\(generation \d+\)", "(generation N)", text)
        text = re.sub(r"\d+\.\d+s +\d+", "TIME TID", text)
        return re.sub(r" +", " ", text)
    assert normal(shown) in normal(told), f"the page shows\n{normal(shown)}\nbut refhist says\n{normal(told)}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("--debugger", "--build", "--page"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="refhist-docs-") as folder:
        tools, work = os.path.join(folder, "tools"), os.path.join(folder, "work")
        os.mkdir(tools)
        os.mkdir(work)
        shim = os.path.join(tools, "refhist-run")
        with open(shim, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {options.build}/bin/refhist-run --debugger {options.debugger} "$@"\n')
        os.chmod(shim, 0o755)
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}",
                           XDG_CACHE_HOME=os.path.join(options.build, "index-cache"))
        last = ""
        for language, rest, text in blocks(options.page):
            if language == "sh":
                expected = int(rest.removeprefix("exit=")) if rest else 0
                # Behind a command that fails on purpose the rest of the block is to be run as well.
                first, _, more = text.partition("\n") if expected else (text, "", "")
                last = run(first, work, environment, expected)
                if more.strip():
                    run(more, work, environment, 0)
            elif language == "text":
                check_report(text, last)
            elif rest:
                path = os.path.join(work, rest)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                if language == "yaml":
                    run(steps(rest, text), work, environment, 0)
    print("all blocks were run")


if __name__ == "__main__":
    sys.exit(main())
