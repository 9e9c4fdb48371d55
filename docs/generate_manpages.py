"""Writes the man pages: the texts of docs/man, and the options and commands that the programs themselves tell of.

usage: generate_manpages.py LIBRARY BIN_FOLDER VERSION OUTPUT_FOLDER
"""

import ctypes
import os
import re
import subprocess
import sys

_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "man")


def _said_by(*command):
    return subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE).stdout


def _roff(text):
    """Text as troff shows it unchanged; what stands between backquotes is bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def _option(line):
    """ "--name VALUE    help" as an entry. A long name and its help stand one blank apart."""
    name, value, text = re.fullmatch(r"\s*(--\S+) ((?:\[[a-z]+\]|(?:[A-Z][A-Z=]*|[a-z]+)(?:\|\w+)*)(?= ))?\s*(.*)", line).groups()
    shown = rf"\fB{_roff(name)}\fR" + (rf" \fI{_roff(value)}\fR" if value else "")
    return f".TP\n{shown}\n{_roff(text)}\n"


def _options_of(program):
    lines = _said_by(program, "--help").splitlines()
    return "".join(_option(line) for line in lines if line.startswith("  --"))


def _command(usage, lines):
    """An entry for a verb: what `help VERB` says, with the options below it."""
    verb, _, rest = usage.removeprefix("refhist ").partition(" ")
    text = f".TP\n\\fB{_roff(verb)}\\fR \\fI{_roff(rest)}\\fR\n"
    plain = [line for line in lines if not line.startswith("    --")]
    text += "".join(f"{_roff(line.strip())}\n" + (".br\n" if line is plain[0] else "") for line in plain)
    options = "".join(_option(line) for line in lines if line.startswith("    --"))
    return text + (f".RS\n{options}.RE\n" if options else "")


def _helper(library):
    """What `help VERB` says, as a function."""
    lib = ctypes.CDLL(library)
    lib.rh_session_new.argtypes, lib.rh_session_new.restype = [ctypes.c_char_p], ctypes.c_void_p
    lib.rh_help.argtypes, lib.rh_help.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_char_p
    session = lib.rh_session_new(b"")
    return lambda verb: lib.rh_help(session, verb.encode()).decode()


def _commands_of(program, library):
    help_of, text = _helper(library), ""
    for verb in _said_by(program, "--complete", "FILE", "").split():
        usage, *lines = help_of(verb).splitlines()
        text += _command(usage, lines)
    return text


def _fleet(program):
    """What `refhist --help-fleet` says: each verb with its options."""
    text = ""
    for line in _said_by(program, "--help-fleet").splitlines():
        if line.startswith("refhist "):
            text += f".TP\n\\fB{_roff(line)}\\fR\n"
        elif line.startswith("    --"):
            text += ".RS\n" + _option(line) + ".RE\n"
        else:
            text += f"{_roff(line.strip())}\n"
    return text


def main(library, programs, version, folder):
    run, refhist = (os.path.join(programs, name) for name in ("refhist-run", "refhist"))
    marks = {"VERSION": version, "OPTIONS": _options_of(run), "COMMANDS": _commands_of(refhist, library), "FLEET": _fleet(refhist)}
    os.makedirs(folder, exist_ok=True)
    for page in ("refhist-run.1", "refhist.1"):
        with open(os.path.join(_TEXTS, page + ".in"), encoding="utf-8") as file:
            text = file.read()
        for mark, value in marks.items():
            text = text.replace(f"@{mark}@", value.rstrip("\n"))
        with open(os.path.join(folder, page), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
