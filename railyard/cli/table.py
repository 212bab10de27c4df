# SPDX-License-Identifier: Apache-2.0
"""Tables that fit any width: text folds between words, numbers and names stay whole, nothing is cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_table"]

# Spaces between two columns.
_GAP = 2


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[str] = (),
    names: Collection[str] = (),
    title: str = "",
    caption: str = "",
) -> None:
    """Print rows under headings; on a screen too narrow for columns, a block of lines for each row.

    Args:
        console: where to print.
        headings: a heading for each column; headings fold like text.
        rows: cells, with rich's markup; a row of a single cell is a line across the table.
        numbers: headings of columns that are kept whole and flush right.
        names: headings of columns that are kept whole, because a person types their words again.
        title: text above the table.
        caption: text below the table.
    """
    cells = [[Text.from_markup(cell) for cell in row] for row in rows]
    columns = list(zip(*(row for row in cells if len(row) > 1), strict=True)) or [()] * len(headings)
    whole = [heading in numbers or heading in names for heading in headings]
    widths = _widths(headings, columns, whole, console.width)
    if title:
        console.print(title, style="bold", highlight=False)
    if widths is None:
        for row in cells:
            console.print(_block(headings, row))
    else:
        heads = list(headings)
        for line, group in groupby(cells, key=lambda row: len(row) == 1):
            part = list(group)
            if line:
                for row in part:
                    console.print(*row)
                continue
            console.print(_table(heads, part, [heading in numbers for heading in headings], widths))
            heads = []
    if caption:
        console.print(caption, style="italic dim", highlight=False)


def _widths(
    headings: Sequence[str], columns: Sequence[Sequence[Text]], whole: Sequence[bool], screen: int
) -> list[int] | None:
    """Return a width for each column that breaks no word, or None when the screen has no room."""
    least, most = [], []
    for heading, column, kept in zip(headings, columns, whole, strict=True):
        lengths = [cell_len(cell.plain) for cell in column]
        words = [len(word) for cell in column for word in cell.plain.split()]
        least.append(max([1, *map(len, heading.split()), *(lengths if kept else words)]))
        most.append(max([least[-1], len(heading), *lengths]))
    spare = screen - sum(least) - _GAP * (len(headings) - 1)
    if spare < 0:
        return None
    # Columns take from what is left, those that need least first, and share it evenly.
    widths = list(least)
    for taken, index in enumerate(sorted(range(len(widths)), key=lambda index: most[index] - least[index])):
        more = min(most[index] - least[index], spare // (len(widths) - taken))
        widths[index] += more
        spare -= more
    return widths


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[Text]], right: Sequence[bool], widths: Sequence[int]
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=bool(headings))
    for index, (flush, width) in enumerate(zip(right, widths, strict=True)):
        justify = "right" if flush else "left"
        table.add_column(headings[index] if headings else "", justify=justify, width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _block(headings: Sequence[str], row: Sequence[Text]) -> Text:
    """Return a row as its first cell, then a line for each other cell that is not empty."""
    pairs = zip(headings[1:], row[1:], strict=False)
    lines = [
        Text.assemble("  ", f"{heading}: " if heading else "", cell) for heading, cell in pairs if cell.plain
    ]
    return Text("\n").join([row[0], *lines])
