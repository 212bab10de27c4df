# SPDX-License-Identifier: Apache-2.0
"""SimAI's analytical mode: its program on a workload, and its times by part of the iteration, in ms."""

import csv
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabric import GPUS, NIC_GB, NVLINK_GB

# Parts of an iteration, and the columns of SimAI's summary that they add up.
PARTS: Mapping[str, tuple[str, ...]] = {
    "computations": ("total comp",),
    "tensor-parallel collectives": ("Expose TP comm",),
    "expert-parallel all-to-alls": ("Expose_EP_comm",),
    "data-parallel collectives": ("Expose DP comm", "Expose DP_EP comm"),
}
_TABLES = Path("astra-sim-alibabacloud", "inputs", "ratio")
_NUMBER = re.compile(r"(\w+):? (\d+)")


def rank_numbers(workload: Path) -> Mapping[str, int]:
    """Return the numbers of a workload's first line by their names."""
    first = workload.read_text().partition("\n")[0]
    return {name: int(value) for name, value in _NUMBER.findall(first)}


def part_of(workload: Path, ranks: int, layers: int | None, folder: Path) -> Path:
    """Write the first layers of a workload, for so many ranks of a pipeline stage; return the file."""
    first, count, *rows = workload.read_text().splitlines()
    for name, value in (("pp", 1), ("all_gpus", ranks), ("pp_comm", 0)):
        first = re.sub(rf"\b{name}(:?) \d+", rf"{name}\g<1> {value}", first)
    taken = rows[: layers or int(count)]
    file = folder / workload.name
    file.write_text("\n".join([first, str(len(taken)), *taken]) + "\n")
    return file


def their_times(program: Path, checkout: Path, workload: Path, *, tables: bool) -> Mapping[str, float]:
    """Run SimAI's analytical mode; return the milliseconds of each part, without a pipeline's bubble.

    With `tables`, rates are lower for small sizes, as SimAI's own tables say; else the rates of the command
    hold for every size.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "results").mkdir()
        (folder / _TABLES).mkdir(parents=True)
        for table in (checkout / _TABLES).glob("*.csv"):
            head, *rows = table.read_text().splitlines()
            if not tables:
                rows = [re.sub(r"(?<=,)[\d.]+", "1", row) for row in rows]
            (folder / _TABLES / table.name).write_text("\n".join([head, *rows]) + "\n")
        options = {
            "-w": workload.resolve(),
            "-g": rank_numbers(workload)["all_gpus"],
            "-g_p_s": GPUS,
            "-nv": NVLINK_GB,
            "-nic": NIC_GB,
            "-n_p_s": GPUS,
            "-r": "run-",
        }
        command = [str(program.resolve()), *(str(word) for pair in options.items() for word in pair)]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        (file,) = (folder / "results").glob("run-*EndToEnd.csv")
        return _parts(file)


def _parts(file: Path) -> Mapping[str, float]:
    """Return the parts of a summary, whose cells are microseconds and perhaps a share."""
    with file.open(newline="") as lines:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    number = next(number for number, row in enumerate(rows) if row and row[0] == "File name")
    values = {
        name: float(cell.partition(" ")[0])
        for name, cell in zip(rows[number][1:], rows[number + 1][1:], strict=True)
    }
    return {part: sum(values[column] for column in columns) / 1000 for part, columns in PARTS.items()}
