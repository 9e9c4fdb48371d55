"""What `import refhist` gives in GDB and in LLDB: what refhist knows, as Python objects.

The keys are those of `--json` (docs/json.md). Every function raises Error, with the one line that the command would
print, when refhist refuses. Options are given as they are typed: leaks("--family", "json_object").
"""

import json

__all__ = ["Error", "command", "document", "findings", "history", "leaks", "objects", "status"]

_run = _address_of = None  # of the debugger that this Python is in


class Error(Exception):
    """What refhist answers to a command that it cannot do: one line that says why."""

    __module__ = "refhist"


def use(run, address_of):
    """`run(line)` runs `refhist LINE` and returns (whether it succeeded, what it printed); `address_of(value)` is what
    one of the debugger's own values means as an address."""
    global _run, _address_of
    _run, _address_of = run, address_of


def command(line):
    """Runs `refhist LINE`, whatever it is, and returns what it prints: command("track json_object")."""
    if _run is None:
        raise Error("refhist is not loaded into a debugger here")
    succeeded, text = _run(line)
    if not succeeded:
        raise Error(text.strip())
    return text


def document(line):
    """All that `refhist LINE --json` tells, as a dict: document("usage")["places"]."""
    return json.loads(command(f"{line} --json"))


def history(where, *options):
    """The objects that live or last lived at an address: mostly one; a shared pointer has strong and weak references.

    `where` is a number, a value of the debugger, or an expression of the program ("conn->reply"). Options are those of
    `refhist ADDR`, such as "--all" or "--at", 120. Each object is a dict:

      address, generation  which object: 12 is the twelfth that lived at the address
      family, type, size   size is 0 when unknown
      state                "live", "dead", "unknown", and with --at "unborn"
      count                references now; None when unknown
      born, died           events, or None
      complete             False when the object lived before tracking began
      events               what happened to it, in order

    and an event is a dict:

      seq, time_ns, thread, role, family, site
      count_before, count_after, count_after_is ("derived", "read", "unknown")
      stack                frames, innermost first: function, file, line, module, pc, inlined
      truncated            whether the stack has more frames
    """
    return document(_line("history", *options) + " " + _expression(where))["objects"]


def objects(*options):
    """The live objects in order of birth, as dicts like those of history(). Options are those of `refhist objects`."""
    return document(_line("objects", *options))["objects"]


def leaks(*options):
    """What is leaked, in groups of objects that are alike. Options are those of `refhist leaks`. A group is a dict:

      verdict, why         "leak" or "undecidable", and why it is that
      family
      reach                "unreachable", "from-leaked", "reachable", None when nobody could look
      born_by, born_in     the function of the family, and who called it
      objects              dicts like those of history(), without events
      references           events: those that may be the one not given back
      suspects             dicts: function, file, line, what ("missing put", ...), confidence, why
      clean_siblings       how many objects of the same birth were released
      cycle                objects of which each holds the next
    """
    return document(_line("leaks", *options))["leaks"]


def findings(*options):
    """What is wrong, as `refhist check` tells it; its options are taken, and the debugger goes on.

    Nothing found means that nothing is wrong: where the session proves nothing (no program ran, nothing was armed,
    events were lost), an empty list would be no answer, and Error says why. A finding is a dict:

      verdict              "leak", "over-put", "use-after-free", "resurrection", "free-while-referenced",
                           "unobserved-change", "undecidable"
      why, object, references, suspects
      fingerprint, alike   objects that are wrong in the same way share the fingerprint; alike is how many
      status               "new", "known" by the baseline, "suppressed"
    """
    check = document(_line("check --stay", *options))
    if check["failed"] and not check["findings"]:
        raise Error(check["failed"])
    return check["findings"]


def status():
    """What is tracked and how it went, as a dict:

      alive, recording, backend, opened
      families, sites, rules   lists of dicts
      totals                   events, objects, live, lost_events, ...
      memory_bytes, truncated_stacks, notes, ...
    """
    return document("status")


def _line(*words):
    first, *others = words
    return " ".join([first, *(_quoted(str(word)) for word in others)])


def _quoted(word):
    if word and not any(c in word for c in " \t\n\"'\\"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expression(where):
    if isinstance(where, str):
        return where
    return f"{where if isinstance(where, int) else _address_of(where):#x}"
