# SPDX-License-Identifier: Apache-2.0
"""Print tables in any width: text wraps between words, numbers and names stay whole, no text is cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_table"]

# Spaces between two columns; if text would wrap in a column narrower than _NARROW, a single space is used.
_GAP = 2
_NARROW = 16


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
    """Print a table; on a screen too narrow for its columns, print a block of lines for each row.

    Args:
        console: Console to print on.
        headings: Heading of each column; headings wrap like text.
        rows: Cells with rich's markup; a row of a single cell is a line across the table.
        numbers: Headings of columns that do not wrap and are right-aligned.
        names: Headings of columns that do not wrap, because users type or copy their words.
        title: Text above the table.
        caption: Text below the table.
    """
    cells = [[Text.from_markup(cell) for cell in row] for row in rows]
    columns = list(zip(*(row for row in cells if len(row) > 1), strict=True)) or [()] * len(headings)
    whole = [heading in numbers or heading in names for heading in headings]
    gap = _GAP
    widths = _widths(headings, columns, whole, console.width - gap * (len(headings) - 1))
    if widths is None or any(width < _NARROW for width in _folded(widths, columns)):
        gap = 1
        widths = _widths(headings, columns, whole, console.width - gap * (len(headings) - 1))
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
            console.print(_table(heads, part, [heading in numbers for heading in headings], widths, gap))
            heads = []
    if caption:
        console.print(caption, style="italic dim", highlight=False)


def _widths(
    headings: Sequence[str], columns: Sequence[Sequence[Text]], whole: Sequence[bool], room: int
) -> list[int] | None:
    """Return a width for each column without breaking a word, or None if `room` is too small."""
    least, cells, most = [], [], []
    for heading, column, kept in zip(headings, columns, whole, strict=True):
        lengths = [cell_len(cell.plain) for cell in column]
        words = [len(word) for cell in column for word in cell.plain.split()]
        least.append(max([1, *map(len, heading.split()), *(lengths if kept else words)]))
        cells.append(max([least[-1], *lengths]))
        most.append(max(cells[-1], len(heading)))
    if sum(least) > room:
        return None
    return _grown(_grown(least, cells, room), most, room)


def _grown(widths: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    """Return widths grown towards `wanted` within `room`; columns that need the least grow first."""
    grown, spare = list(widths), room - sum(widths)
    order = sorted(range(len(grown)), key=lambda index: wanted[index] - grown[index])
    for number, index in enumerate(order):
        more = min(wanted[index] - grown[index], spare // (len(order) - number))
        grown[index] += more
        spare -= more
    return grown


def _folded(widths: Sequence[int], columns: Sequence[Sequence[Text]]) -> list[int]:
    """Return the widths of the columns with a cell that needs more than one line."""
    lengths = [max((cell_len(cell.plain) for cell in column), default=0) for column in columns]
    return [width for width, length in zip(widths, lengths, strict=True) if width < length]


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Text]],
    right: Sequence[bool],
    widths: Sequence[int],
    gap: int,
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), show_header=any(headings))
    for index, (flush, width) in enumerate(zip(right, widths, strict=True)):
        justify = "right" if flush else "left"
        table.add_column(headings[index] if headings else "", justify=justify, width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _block(headings: Sequence[str], row: Sequence[Text]) -> Text:
    """Return a row as lines: its first cell, then each further cell that is not empty, with its heading."""
    pairs = zip(headings[1:], row[1:], strict=False)
    lines = [
        Text.assemble("  ", f"{heading}: " if heading else "", cell) for heading, cell in pairs if cell.plain
    ]
    return Text("\n").join([row[0], *lines])
