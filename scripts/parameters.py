# SPDX-License-Identifier: Apache-2.0
"""Write tables of guides from declarations: `python scripts/parameters.py`.

docs/use/topologies.md has a table for each family of fabrics, below a mark. docs/use/collectives.md has a
table of collectives and their algorithms, between two marks. Other text stays. A test compares the committed
guides with the output of this script; with a folder as argument the output goes there.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from emulation.traffic.collectives.catalogue import KINDS
from topologies.families.declaration import Family
from topologies.families.registry import families

GUIDES = Path(__file__).resolve().parents[1] / "docs" / "use"
MARK = "<!-- The rest is written by scripts/parameters.py. -->\n"
BEGIN, END = "<!-- The table is written by scripts/parameters.py. -->\n", "<!-- end of the table -->\n"


def section(family: Family[...]) -> Iterator[str]:
    """Yield the lines of a family: heading, text, source, a table of parameters."""
    yield f"### {family.name}"
    yield ""
    yield f"{family.text}." + (f" Source: {family.source}." if family.source else "")
    yield ""
    if not family.parameters:
        yield "No parameters."
        yield ""
        return
    yield "| parameter | unit | range | default | what it sets |"
    yield "|---|---|---|---|---|"
    for parameter in family.parameters:
        default = "must be given" if parameter.default is None else f"`{parameter.spell(parameter.default)}`"
        cells = f"`{parameter.name}`", parameter.unit, parameter.range, default, parameter.text
        yield f"| {' | '.join(cells)} |"
    yield ""


def collectives() -> Iterator[str]:
    """Yield the lines of the table of collectives: kind, algorithm, keys of its own, source."""
    yield "| `collective.kind` | `collective.algorithm`, the default first | keys of its own | source |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        for number, algorithm in enumerate(kind.algorithms):
            name = "" if number else f"`{kind.name}`"
            keys = ", ".join(f"`{key}`" for key in (*kind.keys, *algorithm.keys))
            yield f"| {name} | `{algorithm.name}` | {keys} | {algorithm.source} |"


def split(guide: str, mark: str) -> tuple[str, str]:
    """Return the text of a guide up to a mark, the mark included, and the text behind the mark."""
    text = (GUIDES / guide).read_text(encoding="utf-8")
    if mark not in text:
        sys.exit(f"{GUIDES / guide}: no line {mark.strip()!r}")
    before, _, after = text.partition(mark)
    return before + mark, after


def main() -> None:
    """Write the guides' tables."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else GUIDES
    head, _ = split("topologies.md", MARK)
    lines = [line for family in families() for line in section(family)]
    (folder / "topologies.md").write_text(head + "\n" + "\n".join(lines).rstrip() + "\n", encoding="utf-8")
    head, _ = split("collectives.md", BEGIN)
    _, rest = split("collectives.md", END)
    (folder / "collectives.md").write_text(
        head + "\n".join(collectives()) + "\n" + END + rest, encoding="utf-8"
    )


if __name__ == "__main__":
    main()
