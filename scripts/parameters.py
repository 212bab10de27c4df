# SPDX-License-Identifier: Apache-2.0
"""Write tables of guides from declarations: `python scripts/parameters.py`.

docs/use/topologies.md has a table for each family of fabrics, below a mark, and one of the parameters that
several have alike. docs/use/collectives.md has a table of collectives and their algorithms, between two
marks. Other text stays. A test compares the committed guides with the output of this script; with a folder as
argument the output goes there.
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from emulation.traffic.collectives.catalogue import KINDS
from topologies.families.declaration import Family, Parameter
from topologies.families.registry import families

GUIDES = Path(__file__).resolve().parents[1] / "docs" / "use"
HEAD = "| parameter | unit | range | default | what it sets |\n|---|---|---|---|---|"
# Heading of the parameters that so many families have with the same range and default.
_SHARED, _SEVERAL = "Parameters of several families", 3
MARK = "<!-- The rest is written by scripts/parameters.py. -->\n"
BEGIN, END = "<!-- The table is written by scripts/parameters.py. -->\n", "<!-- end of the table -->\n"


def row(parameter: Parameter) -> str:
    """Return the line of a table for a parameter."""
    default = "must be given" if parameter.default is None else f"`{parameter.spell(parameter.default)}`"
    cells = f"`{parameter.name}`", parameter.unit, parameter.range, default, parameter.text
    return f"| {' | '.join(cells)} |"


def topologies() -> Iterator[str]:
    """Yield the lines of the table: parameters that several families share, then those of each family."""
    count = Counter(row(parameter) for family in families() for parameter in family.parameters)
    # The most frequent line of each name: two lines of one name would not say which is meant.
    lines = {line.split("`")[1]: line for line, times in reversed(count.most_common()) if times >= _SEVERAL}
    shared = set(lines.values())
    yield f"### {_SHARED}"
    yield ""
    yield HEAD
    yield from sorted(shared)
    yield ""
    for family in families():
        yield from section(family, shared)


def section(family: Family[...], shared: Collection[str]) -> Iterator[str]:
    """Yield the lines of a family: heading, text, source, a table of the parameters that are not shared."""
    yield f"### {family.name}"
    yield ""
    yield f"{family.text}." + (f" Source: {family.source}." if family.source else "")
    yield ""
    own = [line for parameter in family.parameters if (line := row(parameter)) not in shared]
    if own:
        yield HEAD
        yield from own
        yield ""
    others = [f"`{parameter.name}`" for parameter in family.parameters if row(parameter) in shared]
    if others:
        anchor = _SHARED.lower().replace(" ", "-")
        yield f"{'As well' if own else 'Parameters'}, [above](#{anchor}): {', '.join(others)}."
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
    text = "\n".join(topologies()).rstrip()
    (folder / "topologies.md").write_text(f"{head}\n{text}\n", encoding="utf-8")
    head, _ = split("collectives.md", BEGIN)
    _, rest = split("collectives.md", END)
    (folder / "collectives.md").write_text(
        head + "\n".join(collectives()) + "\n" + END + rest, encoding="utf-8"
    )


if __name__ == "__main__":
    main()
