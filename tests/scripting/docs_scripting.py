"""Runs the examples of docs/scripting.md as they stand there, in a fresh folder.

usage: docs_scripting.py --debugger gdb|lldb --build DIR --page FILE

The rest of a block's first line: the debugger that it is for (both, if none is named), `exit=N`, the name of its file. A
`text` block has to be in what the block before it prints.
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runner"))

from docs_ci import blocks, check_report, run  # noqa: E402

DEBUGGERS = ("gdb", "lldb")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--debugger", "--build", "--page"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    environment = dict(os.environ, REFHIST=f"{options.build}/gdb", REFHIST_LLDB=f"{options.build}/lldb_plugin",
                       PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=os.path.join(options.build, "index-cache"))
    done, last = [], ""
    with tempfile.TemporaryDirectory(prefix="refhist-docs-") as folder:
        for language, rest, text in blocks(options.page):
            words = rest.split()
            if any(word in DEBUGGERS and word != options.debugger for word in words):
                continue
            status = next((int(word.removeprefix("exit=")) for word in words if word.startswith("exit=")), 0)
            if language == "sh":
                last = run(text, folder, environment, status)
            elif language == "text":
                check_report(text, last)
            else:
                with open(os.path.join(folder, words[-1]), "w", encoding="utf-8") as file:
                    file.write(text)
            done.append(language)
    assert done.count("sh") == 3 and done.count("text") == 2, done
    print("all blocks were run")


if __name__ == "__main__":
    sys.exit(main())
