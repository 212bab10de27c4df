# SPDX-License-Identifier: Apache-2.0
"""A case of ns-3-UB on the links that carried bytes in the simulator's own run.

`throughput.csv`, which the simulator's script makes of its port trace, names each port with its bytes. Links
without any, and nodes without links, are left out of node.csv and topology.csv; all else is copied. Prints
the load of the links between switches in tasks of the largest size.
"""

import argparse
import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["loads", "write_case"]

_COPIED = ("traffic.csv", "network_attribute.txt", "transport_channel.csv", "*/task_statistics.csv")

Row = Mapping[str, str]


def _rows(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def _sent(case: Path) -> Counter[tuple[str, str]]:
    """Return the bytes that left each port, by node and port."""
    (path,) = case.glob("*/throughput.csv")
    sent: Counter[tuple[str, str]] = Counter()
    for row in _rows(path):
        if row["type"] == "Tx":
            sent[row["nodeId"], row["portId"]] += int(row["TotalBytes"])
    return sent


def _ends(link: Row) -> tuple[tuple[str, str], tuple[str, str]]:
    return (link["nodeId1"], link["portId1"]), (link["nodeId2"], link["portId2"])


def _kinds(case: Path) -> Iterator[tuple[str, Row]]:
    """Yield each node by its number, with its row of node.csv."""
    for row in _rows(case / "node.csv"):
        first, _, last = row["nodeId"].partition("..")
        for number in range(int(first), int(last or first) + 1):
            yield str(number), row


def write_case(case: Path, folder: Path) -> tuple[int, int]:
    """Write a case on the links that carried bytes; return the numbers of its nodes and links."""
    sent = _sent(case)
    links = [link for link in _rows(case / "topology.csv") if any(sent[end] for end in _ends(link))]
    nodes = {end[0] for link in links for end in _ends(link)}
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{**row, "nodeId": number} for number, row in _kinds(case) if number in nodes]
    for name, content in (("node.csv", rows), ("topology.csv", links)):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, content[0].keys())
            writer.writeheader()
            writer.writerows(content)
    for pattern in _COPIED:
        for path in case.glob(pattern):
            target = folder / path.relative_to(case)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
    return len(nodes), len(links)


def loads(case: Path) -> Counter[int]:
    """Return how many ports of switches towards switches sent how many tasks, to the nearest whole task."""
    kinds = {number: row["nodeType"] for number, row in _kinds(case)}
    sent = _sent(case)
    whole = max(size for (node, _), size in sent.items() if kinds[node] == "DEVICE")
    ports = (
        end
        for link in _rows(case / "topology.csv")
        if kinds[link["nodeId1"]] == kinds[link["nodeId2"]] == "SWITCH"
        for end in _ends(link)
    )
    return Counter(tasks for end in ports if (tasks := round(sent[end] / whole)))


def main() -> int:
    """Write a case on the links that its own run used."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("case", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the case")
    chosen = parser.parse_args()
    nodes, links = write_case(chosen.case, chosen.out / chosen.case.name)
    print(f"{chosen.case.name}: {nodes} nodes, {links} links")
    for tasks, ports in sorted(loads(chosen.case).items()):
        print(f"{ports} ports between switches sent {tasks} tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
