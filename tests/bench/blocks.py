"""The parts of docs/performance.md that the benches print, each between `<!-- make bench: NAME -->` and `<!-- end -->`; and
whether they are still what the benches print."""

import re

import table as tables

_BLOCK = re.compile(r"<!-- make bench: (\S+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
_TABLE = re.compile(r"^### (.+)\n\n((?:\|.*\n)+)\n", re.MULTILINE)


def blocks(page):
    """{name: text}"""
    return dict(_BLOCK.findall(page))


def replaced(page, name, text):
    return _BLOCK.sub(lambda found: marked(name, text) if found[1] == name else found[0], page)


def marked(name, text):
    return f"<!-- make bench: {name} -->\n{text}<!-- end -->\n"


def _difference(printed, lines):
    for expected, found in zip(printed, lines):
        if expected != found:
            return f"has\n  {found}\nand not\n  {expected}"
    return f"has {len(lines)} lines and not {len(printed)}"


def _wrong_in_table(table, lines, left_out):
    """`lines` as they are on the page. The figures are taken from there; everything else is what the bench declares."""
    found = tables.read(table, lines)
    rows = [row for row in table.rows if row not in left_out]
    empty = ("",) * len(table.columns)
    printed = tables.text(table, {row: found.get(row, empty) for row in rows}).split("\n")
    if printed != lines:
        yield f"{table.title}: the page {_difference(printed, lines)}"


def wrong_in_block(declared, text):
    """Lines that say where a block differs from what a bench with these tables prints, whatever its figures."""
    printed = {title: lines.splitlines() for title, lines in _TABLE.findall(text)}
    names = {name for table in declared for name in (table.title, *table.rows)}
    left_out = {name for name in names if f"\n- left out: {name}: " in text}
    titles = [table.title for table in declared if table.title not in left_out]
    if list(printed) != titles:
        yield f"the page has the tables {list(printed)} and not {titles}"
        return
    for table in declared:
        if table.title in printed:
            yield from _wrong_in_table(table, printed[table.title], left_out)
    other = [line for line in _TABLE.sub("", text).splitlines() if line and not line.startswith("- ")]
    if other:
        yield f"no bench prints this line: {other[0]}"
    if not text.startswith("- refhist "):
        yield "the first line does not say which version was measured"


def wrong_in_page(declared, page):
    """`declared`: {name of a bench: its tables}"""
    present = blocks(page)
    if sorted(present) != sorted(declared):
        yield f"the page has blocks of {sorted(present)} and not of {sorted(declared)}"
    for name, text in present.items():
        for line in wrong_in_block(declared.get(name, ()), text):
            yield f"{name}: {line}"
    for line in _BLOCK.sub("", page).splitlines():
        if line.startswith("|"):
            yield f"a table that no bench prints: {line}"
        if line.startswith("<!-- make bench") or line.startswith("<!-- end"):
            yield f"a mark without its other half: {line}"
