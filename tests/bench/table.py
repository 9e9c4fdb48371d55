"""The tables of docs/performance.md. The benches declare them, `text` is the only place that prints one, and page.py reads
them back to compare the page with what is declared."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    name: str
    digits: int  # after the point


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple
    rows: tuple  # their names
    targets: dict = field(default_factory=dict)  # {row: what the figures of the columns `judged` shall be at most}
    judged: tuple = ()
    target_of: str = ""  # for the head of the column of targets; otherwise the name of the judged column

    def head(self):
        cells = ["", *(column.name for column in self.columns)]
        return [*cells, f"target ({self.target_of or self.judged[0]})"] if self.targets else cells


def heading(table):
    return f"### {table.title}"


def cells_of(table, figures):
    """{row: its figures} as {row: their texts}. A figure that is None was not measured."""
    return {
        row: tuple("" if value is None else f"{value:,.{column.digits}f}" for column, value in zip(table.columns, values))
        for row, values in figures.items()
    }


def _target(table, row, cells):
    """What is judged is what is printed: 1.754 is printed as 1.75, and that is not more than 1.75."""
    if row not in table.targets:
        return ""
    limit = table.targets[row]
    judged = [cell.replace(",", "") for column, cell in zip(table.columns, cells) if column.name in table.judged]
    if "" in judged:
        return f"<= {limit:g}, not measured"
    return f"<= {limit:g}, {'met' if max(map(float, judged)) <= limit else 'missed'}"


def text(table, cells):
    """`cells`: {row: texts of its figures}, as cells_of makes them."""
    lines = [table.head()]
    for row, texts in cells.items():
        lines.append([row, *texts, *([_target(table, row, texts)] if table.targets else [])])
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]) + " |"
                     for line in lines)


def read(table, lines):
    """The cells of a printed table. What is no figure is read as none: then the text of the table differs."""
    cells = {}
    for line in lines[2:]:
        row, *texts = (cell.strip() for cell in line.strip().strip("|").split("|"))
        figures = texts[: len(table.columns)]
        cells[row] = tuple(figure if re.fullmatch(r"(-?[\d,]+(\.\d+)?)?", figure) else "" for figure in figures)
    return cells
