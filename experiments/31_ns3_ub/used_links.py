# SPDX-License-Identifier: Apache-2.0
"""A case of ns-3-UB on the links that carried bytes in the simulator's own run.

`throughput.csv`, which the simulator's script makes of its port trace, names each port with its bytes. Links
without any, and nodes without links, are left out of node.csv and topology.csv; all else is copied. With
`--divide`, bytes of tasks and the simulator's times of completion are a part of the case's. Prints the load
of the links between switches in tasks of the largest size.
"""

import argparse
import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_COPIED = ("network_attribute.txt", "transport_channel.csv")
# Columns that are divided, by the pattern of their files.
_DIVIDED = {"traffic.csv": "dataSize(Byte)", "*/task_statistics.csv": "taskCompletesTime(us)"}

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


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def write_case(case: Path, folder: Path, divisor: int = 1) -> tuple[int, int]:
    """Write a case on the links that carried bytes; return the numbers of its nodes and links.

    Bytes of tasks, rounded down, and times of completion are divided.
    """
    sent = _sent(case)
    links = [link for link in _rows(case / "topology.csv") if any(sent[end] for end in _ends(link))]
    nodes = {end[0] for link in links for end in _ends(link)}
    _write(
        folder / "node.csv", [{**row, "nodeId": number} for number, row in _kinds(case) if number in nodes]
    )
    _write(folder / "topology.csv", links)
    for pattern, column in _DIVIDED.items():
        for path in case.glob(pattern):
            rows = [{**row, column: _divided(row[column], divisor)} for row in _rows(path)]
            _write(folder / path.relative_to(case), rows)
    for pattern in _COPIED:
        for path in case.glob(pattern):
            shutil.copyfile(path, folder / path.name)
    return len(nodes), len(links)


def _divided(text: str, divisor: int) -> str:
    return str(int(text) // divisor) if text.isdecimal() else str(float(text) / divisor)


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
    parser.add_argument("--divide", type=int, default=1, help="divisor of bytes and times")
    chosen = parser.parse_args()
    nodes, links = write_case(chosen.case, chosen.out / chosen.case.name, chosen.divide)
    print(f"{chosen.case.name}: {nodes} nodes, {links} links")
    for tasks, ports in sorted(loads(chosen.case).items()):
        print(f"{ports} ports between switches sent {tasks} tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
