# SPDX-License-Identifier: Apache-2.0
"""Write the tables of docs/use/topologies.md from the families' declarations: `python scripts/parameters.py`.

The text above the mark stays. A test compares the committed guide with the output of this script; with a file
as argument the output goes there.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from topologies.families.declaration import Family
from topologies.families.registry import families

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "use" / "topologies.md"
MARK = "<!-- The rest is written by scripts/parameters.py. -->\n"


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


def main() -> None:
    """Write the guide's tables."""
    head, mark, _ = GUIDE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        sys.exit(f"{GUIDE}: no line {MARK.strip()!r}")
    lines = [line for family in families() for line in section(family)]
    target = Path(sys.argv[1]) if sys.argv[1:] else GUIDE
    target.write_text(head + mark + "\n" + "\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
