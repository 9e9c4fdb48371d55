"""The check of docs/performance.md finds what somebody typed. usage: page_test.py PAGE"""

import sys

import blocks
import page
from table import Column, Table, cells_of, text

_COLUMNS = (Column("ns per event", 1), Column("added", 1))
_CHAIN = Table("One chain", _COLUMNS, ("native", "agent", "uprobes"), {"agent": 60}, ("added",))
_PRINTED = """\
|        | ns per event | added | target (added) |
| ------ | -----------: | ----: | -------------: |
| native |      1,044.8 |   0.0 |                |
| agent  |      1,104.8 |  60.0 |     <= 60, met |
"""
_BLOCK = f"- refhist 0.1.0, commit 1234567\n\n### One chain\n\n{_PRINTED}\n- left out: uprobes: not installed\n"


def the_table_is_printed_aligned_with_its_targets():
    cells = cells_of(_CHAIN, {"native": (1044.8, 0), "agent": (1104.84, 60.04)})
    assert text(_CHAIN, cells) + "\n" == _PRINTED
    assert "<= 60, missed" in text(_CHAIN, cells_of(_CHAIN, {"agent": (105, 60.1)}))


def what_is_printed_is_right():
    assert not list(blocks.wrong_in_block([_CHAIN], _BLOCK))


def what_is_typed_is_found():
    edits = {
        "<= 60, met": "<= 61, met", "60, met": "60, missed", "60.0 |  ": "60.1 |  ", "60.0 | ": "     | ", "agent ": "Agent ",
        "| native | ": "|native | ",
        "ns per event": "us per event", "target (added)": "target (total)", "### One chain": "### A chain", "1,044.8": "  about",
        "- left out: uprobes: not installed\n": "", "- refhist 0.1.0": "- some version",
        _PRINTED.splitlines()[3] + "\n": "", "\n- left out": "\nSo fast.\n- left out",
    }
    for old, new in edits.items():
        typed = _BLOCK.replace(old, new)
        assert typed != _BLOCK, f"nothing to edit: {old!r}"
        assert list(blocks.wrong_in_block([_CHAIN], typed)), f"not found: {new!r} in place of {old!r}"


def blocks_and_tables_of_the_page_are_those_of_the_benches():
    declared = {"agent": [_CHAIN]}
    whole = f"# Performance\n\n{blocks.marked('agent', _BLOCK)}\nText.\n"
    assert not list(blocks.wrong_in_page(declared, whole))
    for typed in ("# Performance\n", whole + "| a | b |\n", whole + blocks.marked("other", _BLOCK), whole + "<!-- end -->\n"):
        assert list(blocks.wrong_in_page(declared, typed)), typed
    assert not list(blocks.wrong_in_page(declared, blocks.replaced("\n" + blocks.marked("agent", "old\n"), "agent", _BLOCK)))


def every_target_of_the_page_is_checked(path):
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    targets = [line for line in whole.splitlines() if line.startswith("|") and "<= " in line]
    assert targets
    for line in targets:
        assert list(blocks.wrong_in_page(page.declared(), whole.replace(line, line.replace("<= ", "<= 9")))), line


if __name__ == "__main__":
    the_table_is_printed_aligned_with_its_targets()
    what_is_printed_is_right()
    what_is_typed_is_found()
    blocks_and_tables_of_the_page_are_those_of_the_benches()
    every_target_of_the_page_is_checked(sys.argv[1])
