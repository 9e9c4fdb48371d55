"""The table as text, in the form that docs/performance.md has it."""

from dataclasses import dataclass


@dataclass
class Row:
    subject: str
    wall: float  # microseconds per event
    cpu: float  # of the debugger and its debug server
    wall_ratio: float  # to the naive callback, in the same rounds
    cpu_ratio: float
    target: dict  # of the ratio, by workload


_COLUMNS = ("", "wall us", "CPU us", "wall ratio", "CPU ratio", "target")


def heading(debugger, workload):
    return f"### {debugger}: {workload.title}\n"


def _cells(row, workload):
    target = row.target.get(workload)
    return (
        row.subject,
        f"{row.wall:.0f}",
        f"{row.cpu:.0f}",
        f"{row.wall_ratio:.2f}",
        f"{row.cpu_ratio:.2f}",
        f"<= {target}" if target else "",
    )


def text(rows, workload):
    lines = [_COLUMNS, ("---", *["---:"] * (len(_COLUMNS) - 1)), *(_cells(row, workload) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    for i, line in enumerate(lines):
        fill = "-" if i == 1 else " "
        lines[i] = "| " + " | ".join(
            (cell.ljust(width, fill) if column == 0 else cell.rjust(width, fill))
            for column, (cell, width) in enumerate(zip(line, widths))
        ) + " |"
    return "\n".join(lines) + "\n"
