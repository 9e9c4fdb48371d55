"""The tables of `make accuracy`."""

import math

import case as cases

_COLUMNS = ("", "cases", "found", "silent", "first", "in three", "named", "named right", "twins accused", "failed")


def wilson(right, of):
    """The interval of 95% in which the true share lies."""
    if not of:
        return None
    z = 1.96
    share, square = right / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def _count(outcomes, what):
    return sum(1 for outcome in outcomes if what(outcome))


def _row(name, outcomes):
    named = [outcome for outcome in outcomes if outcome.named]
    return (name, len(outcomes), _count(outcomes, lambda one: one.found), _count(outcomes, lambda one: one.silent),
            _count(outcomes, lambda one: one.first), _count(outcomes, lambda one: one.three), len(named),
            _count(named, lambda one: one.first), _count(outcomes, lambda one: one.accused),
            _count(outcomes, lambda one: one.failed))


def _markdown(columns, rows):
    texts = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(columns))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in texts]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def _groups(outcomes, key, order):
    for name in order:
        group = [outcome for outcome in outcomes if key(outcome) == name]
        if group:
            yield name, group


def _by(outcomes, key, order):
    return [_row(name, group) for name, group in _groups(outcomes, key, order)]


def _share(right, of):
    return f"{right} of {of}" + (f" ({100 * right / of:.0f}%)" if of else "")


def _precision(outcomes):
    for confidence in ("named", "confirmed"):
        said = [outcome for outcome in outcomes if outcome.named == confidence]
        if said:
            right = _count(said, lambda one: one.first)
            low, high = wilson(right, len(said))
            yield f"`{confidence}` is right in {_share(right, len(said))}; 95% interval {100 * low:.0f} to {100 * high:.0f}%"
        else:
            yield f"`{confidence}`: never said"


def _sums(outcomes):
    found = [outcome for outcome in outcomes if outcome.found]
    yield f"found: {_share(len(found), len(outcomes))}"
    yield f"first suspect right: {_share(_count(found, lambda one: one.first), len(found))} of the found ones; in the first " \
          f"three: {_share(_count(found, lambda one: one.three), len(found))}"
    yield from _precision(found)
    yield f"right twins with a finding that fails a check: {_share(_count(outcomes, lambda one: one.accused), len(outcomes))}"
    yield f"lines of `undecidable` and `unobserved-change` on right twins: {sum(one.undecided for one in outcomes)} in " \
          f"{_count(outcomes, lambda one: one.undecided)} of {len(outcomes)}"
    over = [one for one in outcomes if one.found and one.too_many]
    yield f"wrong programs in which more objects are accused than are concerned: {_share(len(over), len(found))}"
    seconds = sorted(one.seconds for one in outcomes)
    yield f"seconds of a session: {seconds[len(seconds) // 2]:.1f} in the median, {seconds[-1]:.1f} at most"


def _says(outcome):
    """What is not as it should be; empty when all is."""
    case = outcome.case
    if outcome.failed:
        return f"failed: {outcome.failed[:120]}"
    wrong = []
    if outcome.accused:
        wrong.append(f"right twin accused: {', '.join(sorted(set(outcome.accused)))}")
    if not outcome.found:
        wrong.append("silent" if outcome.silent else f"not found, says {', '.join(sorted(set(outcome.verdicts)))}")
    elif outcome.too_many:
        wrong.append(f"accuses {outcome.told} objects, not {case.objects}")
    if outcome.found and not outcome.first:
        first = outcome.suspects[0] if outcome.suspects else None
        lines = ", ".join(map(str, sorted(case.guilty)))
        says = f"{first[0]} ({first[1]}:{first[2]}, {first[3]})" if first else "no suspect"
        wrong.append(f"first suspect {says}, guilty is line {lines}{'; right among the first three' if outcome.three else ''}")
    if outcome.undecided:
        wrong.append(f"{outcome.undecided} undecided on the right twin")
    return "; ".join(wrong)


def _of_debugger(debugger, mine):
    seen = [outcome for outcome in mine if not outcome.case.set_aside]
    aside = [outcome for outcome in mine if outcome.case.set_aside]
    rows = _by(seen, lambda one: one.case.kind, cases.KINDS)
    rows += _by(seen, lambda one: one.case.theme, sorted({one.case.theme for one in seen}))
    rows += [_row("all of these", seen)] + ([_row("set aside", aside)] if aside else [])
    return f"### {debugger}\n\n" + _markdown(_COLUMNS, rows) + "\n" + "".join(f"- {line}\n" for line in _sums(mine)) + "\n"


def _told(outcomes):
    """One line for each program that is not as it should be, and debuggers that say the same."""
    lines = {}
    for one in outcomes:
        if _says(one):
            key = f"{one.case.theme}/{one.case.name} ({one.case.kind})", _says(one)
            lines.setdefault(key, []).append(one.debugger)
    everyone = sorted({one.debugger for one in outcomes})
    for (name, says), debuggers in lines.items():
        yield f"- {name}{'' if sorted(debuggers) == everyone else ', ' + ', '.join(debuggers)}: {says}\n"


def tables(outcomes, tell_set_aside):
    """As Markdown."""
    parts = [_of_debugger(debugger, [outcome for outcome in outcomes if outcome.debugger == debugger])
             for debugger in sorted({outcome.debugger for outcome in outcomes})]
    told = "".join(_told([one for one in outcomes if tell_set_aside or not one.case.set_aside]))
    return "".join(parts) + (f"### What is not as it should be\n\n{told}\n" if told else "")


def as_json(outcome):
    return {"case": outcome.case.name, "theme": outcome.case.theme, "kind": outcome.case.kind,
            "debugger": outcome.debugger, "failed": outcome.failed, "found": outcome.found, "told": outcome.told,
            "objects": outcome.case.objects, "first": outcome.first, "three": outcome.three, "named": outcome.named,
            "accused": list(outcome.accused), "undecided": outcome.undecided, "seconds": round(outcome.seconds, 2),
            "suspects": [list(place) for place in outcome.suspects], "verdicts": list(outcome.verdicts),
            "set_aside": outcome.case.set_aside}
