"""Reading the JSON answers of refhist (schema refhist/1)."""

import json

from .checks import check, contains, equal


def roles(thing):
    return [event["role"] for event in thing["events"]]


def counts(thing):
    """(before, after) of every event."""
    return [(event["count_before"], event["count_after"]) for event in thing["events"]]


def functions(event):
    return [frame["function"] for frame in event["stack"]]


def called_from(event, function):
    check(function in functions(event), f"{event['role']} was not called from {function}: {functions(event)}")


def first_suspect(finding):
    """(what, function, line)"""
    suspect = finding["suspects"][0]
    return suspect["what"], suspect["function"], suspect["line"]


def role_totals(things):
    """How many events of each role the objects have together."""
    totals = {}
    for thing in things:
        for role in roles(thing):
            totals[role] = totals.get(role, 0) + 1
    return totals


def in_order(thing):
    """Events stand in event order, with growing sequence numbers and times that never go back."""
    numbers = [event["seq"] for event in thing["events"]]
    times = [event["time_ns"] for event in thing["events"]]
    equal(numbers, sorted(set(numbers)), "sequence numbers")
    equal(times, sorted(times), "times")


def objects(d, options=""):
    return d.refhist_json(f"objects {options}".strip())["objects"]


def events_of(d, role, family=None):
    """All events of the role; of the objects of one family, where it is said."""
    return [event for thing in objects(d, "--all") if family in (None, thing["family"])
            for event in thing["events"] if event["role"] == role]


def leaks(d, options=""):
    """Groups of objects that are alike: {"verdict", "objects", "references", "suspects", …}."""
    return d.refhist_json(f"leaks {options}".strip())["leaks"]


def only(things, what):
    equal(len(things), 1, f"number of {what}")
    return things[0]


def source_line(place):
    """The text of the line that a suspect or a frame names."""
    with open(place["file"], encoding="utf-8") as source:
        return source.read().splitlines()[place["line"] - 1]


def first_suspect_at(d, way):
    """`refhist check`: its findings, and the first suspect of the first one, whose line is marked with the way."""
    status, found = check_findings(d)
    equal(status, 23, "exit status")
    first = found[0]["suspects"][0]
    contains(source_line(first), f"// {way}", f"the line of {first}")
    return found, first


def check_findings(d, options="--fail-on leak,imbalance,unobserved-change,undecidable"):
    """`refhist check --json`, which ends the debugger: (exit status, findings)."""
    status, text = d.ending_command(f"refhist check --json {options}")
    answer = json.loads(text[text.index("{"): text.rindex("}") + 1])
    return status, answer["findings"]


def verdicts(found):
    return sorted(finding["verdict"] for finding in found)


def hits(status):
    """How often each probe of `refhist status --json` was called."""
    return {site["probe"]: site["hits"] for site in status["sites"] if site["hits"]}
