"""What one bench prints. It appears at once on the terminal, and is kept for the page."""

import table as tables
from setup import load


class Report:
    def __init__(self, setup, left_out, how=""):
        """`left_out`: {row or title of a table: why}. `how`: what else belongs to the line about the load."""
        self._lines = []
        self._left_out = left_out
        self._print(f"- {setup.version}", f"- {setup.machine()}", f"- {how}load at the start: {load()}", "")

    def table(self, table, figures):
        """`figures`: {row: its figures}. Each row is there or was announced as left out."""
        expected = [row for row in table.rows if row not in self._left_out]
        if list(figures) != expected:
            raise RuntimeError(f"{table.title}: measured {list(figures)} and not {expected}")
        self._print(tables.heading(table), "", tables.text(table, tables.cells_of(table, figures)), "")

    def finish(self):
        self._print(f"- load at the end: {load()}", *(f"- left out: {name}: {why}" for name, why in self._left_out.items()))

    def text(self):
        return "\n".join(self._lines) + "\n"

    def _print(self, *lines):
        self._lines += lines
        print("\n".join(lines), flush=True)
