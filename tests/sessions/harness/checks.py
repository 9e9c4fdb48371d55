"""Assertions of the session scripts."""

import os
import re


IN_AGENT = os.environ.get("REFHIST_TEST_BACKEND") == "auto"


def only_where(condition, reason):
    """Marks a test that means something in some debuggers or backends. `condition(name)` gets "gdb" or "lldb"; elsewhere the
    test is left out, which is printed with the reason. An entry of ctest whose tests are all left out fails: it should not
    be registered."""

    def mark(test):
        test.means_something = condition
        test.reason = reason
        return test

    return mark


def agent_only(reason):
    return only_where(lambda name: IN_AGENT, reason)


class SessionFailure(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise SessionFailure(message)


def equal(actual, expected, what):
    check(actual == expected, f"{what}: {actual!r} instead of {expected!r}")


def contains(text, part, what="output"):
    check(part in text, f"{what} lacks {part!r}:\n{text}")


def lacks(text, part, what="output"):
    check(part not in text, f"{what} has {part!r}:\n{text}")


def matches(text, pattern, what="output"):
    check(re.search(pattern, text), f"{what} does not match {pattern!r}:\n{text}")


def normalised(text):
    """Without what differs from run to run, between machines and debuggers: addresses, times, ids, folders."""
    text = re.sub(r'(?m)^( +(?:\d+  )?#)(\d+) +\d+\.\d+s +\d+ (?=")', lambda m: f"{m[1]}{m[2]:<6} TIME TID ", text)
    text = re.sub(r"\bprocess \d+", "process PID", text)
    text = re.sub(r"\[[0-9a-f]{16}\]", "[FINGERPRINT]", text)
    text = re.sub(r"\b0x[0-9a-f]{3,}\b", "0xADDR", text)
    text = re.sub(r"\b\d+(\.\d+)? ?(ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r"(?i)\bthread \d+", "thread TID", text)
    text = re.sub(r"(/[\w.+-]+)+/(?=[\w.+-]+)", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def golden(path, text):
    """The screen must be as in the file, in both debuggers. REFHIST_UPDATE_GOLDEN=1 writes the file instead."""
    actual = normalised(text)
    if os.environ.get("REFHIST_UPDATE_GOLDEN"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(actual)
        return
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    check(actual == expected, f"{os.path.basename(path)} differs; is:\n{actual}\nshould be:\n{expected}")
