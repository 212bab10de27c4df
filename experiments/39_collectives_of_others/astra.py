# SPDX-License-Identifier: Apache-2.0
"""Microbenchmarks of astra-sim and its custom ring beside astra-sim's own times, on equal rings.

Every collective is carried out here by the ring algorithm as astra-sim's example system has it: the array in
four parts, one after the other, and in each step each NPU sends a share of the part to the next NPU; an
all-to-all passes every share on until it is where it belongs. The traces themselves, whose collectives an
import carries out by direct sends, run on the same ring, beside astra-sim's own direct algorithm. The custom
ring is an algorithm of MSCCL with its traces, which also have a computation of 7 µs for each of the seven
reductions of an NPU.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruamel.yaml import YAML

from harness.formats.msccl.graph import read_msccl
from harness.formats.written import write_imported
from papers.checking.statements import heading
from railyard.command import railyard, result_of

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
PARTS = 4
# Kind of collective: steps of its ring algorithm for n NPUs, and bytes of the array that a step moves.
STEPS = {
    "all_gather": (lambda n: n - 1, lambda _: MIB),  # each NPU has 1 MiB
    "reduce_scatter": (lambda n: n - 1, lambda n: MIB // n),
    "all_reduce": (lambda n: 2 * (n - 1), lambda n: MIB // n),
    "all_to_all": (lambda n: n * (n - 1) // 2, lambda n: MIB // n),
}
# astra-sim takes the size of an all-gather for a part, an import for the whole array.
DIRECT = ("reduce_scatter", "all_reduce", "all_to_all")
# Room for all frames under way: astra-sim's links hold any number of messages.
NO_BACK_PRESSURE = {"credit_bytes": 8 * MIB}
RANKS = (4, 8, 16)
REDUCTIONS_US = 7 * 7
WALL = re.compile(r"sys\[(\d+)\], Wall time: (\d+)")


def their_time(program: Path, checkout: Path, workload: Path, ranks: int, system: Path) -> float:
    """Run astra-sim's analytical, congestion-aware network; return the microseconds of the last NPU."""
    examples = checkout.resolve() / "examples"
    command = [
        str(program.resolve()),
        f"--workload-configuration={workload.resolve()}",
        f"--system-configuration={system.resolve()}",
        f"--network-configuration={examples / 'network' / 'analytical' / f'Ring_{ranks}npus.yml'}",
        f"--remote-memory-configuration={examples / 'remote_memory/analytical/no_memory_expansion.json'}",
    ]
    # The configuration of the custom collective names its files from the checkout on.
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    return max(int(match[2]) for match in WALL.finditer(done.stdout)) / 1000


def _direct(native: Path, folder: Path) -> Path:
    """Write a system that carries out collectives by direct sends of whole shares; return the file."""
    system = json.loads(native.read_text())
    for key in [key for key in system if key.endswith("-implementation")]:
        system[key] = ["direct"]
    system["preferred-dataset-splits"] = 1
    file = folder / "direct.json"
    file.write_text(json.dumps(system))
    return file


def _run(scenario: Path, ranks: int, link: Mapping[str, int] = MappingProxyType({})) -> float | None:
    """Run a scenario's only variant on the ring; return its microseconds, None if data are wrong."""
    document = YAML().load(scenario)
    document["variants"][0]["link"] = dict(link)
    document["topology"] = {"python": f"{HERE / 'ring.py'}:ring", "params": {"npus": ranks}}
    YAML().dump(document, scenario)
    code, result = result_of(scenario, "--no-report", "--quiet")
    return None if code else result["metrics"][f"{document['variants'][0]['name']}.completion_us"]


def by_ring(ranks: int, steps: int, share: int, parts: int = 1) -> float | None:
    """Return the microseconds of the ring algorithm with shares of so many bytes, part after part."""
    operations: list[dict[str, Any]] = [
        {
            "id": f"s{step}.{npu}",
            "send": share,
            "from": f"npu{npu}",
            "to": f"npu{(npu + 1) % ranks}",
            "after": [f"s{step - 1}.{(npu - 1) % ranks}"] if step else [],
        }
        for step in range(steps * parts)
        for npu in range(ranks)
    ]
    with tempfile.TemporaryDirectory() as name:
        graph, scenario = Path(name) / "graph.json", Path(name) / "scenario.yaml"
        graph.write_text(
            json.dumps({"format": "railyard-graph", "version": 1, "name": "ring", "operations": operations})
        )
        variants = [{"name": "run", "graph": {"file": graph.name}}]
        YAML().dump({"name": "ring", "title": "ring", "topology": {}, "variants": variants}, scenario)
        return _run(scenario, ranks)


def from_traces(folder: Path, ranks: int, link: Mapping[str, int] = MappingProxyType({})) -> float | None:
    """Return the microseconds of a folder of traces, imported."""
    with tempfile.TemporaryDirectory() as name:
        if railyard("import", "chakra", folder, "--out", Path(name) / "imported"):
            return None
        return _run(Path(name) / "imported" / "scenario.yaml", ranks, link)


def custom_ring(file: Path, ranks: int) -> float | None:
    """Return the microseconds of astra-sim's own algorithm, for an array of 1 MiB."""
    with tempfile.TemporaryDirectory() as name:
        imported = read_msccl([file], chunk_bytes=MIB // ranks)
        return _run(write_imported(imported, Path(name) / "imported", file.name), ranks)


def _compared(name: str, theirs: float, ours: float | None, stalled: float | None = None) -> tuple[str, bool]:
    """Print a line of a table; return what is checked of it, and whether it holds.

    `stalled` is the time with the credits of a scenario that names none.
    """
    if ours is None:
        return f"{name}: data are right", False
    held = "" if stalled is None else f" {stalled:,.2f} |"
    print(f"| {name} | {ours:,.2f} | {theirs:,.2f} | {ours / theirs:.3f} |{held}", flush=True)
    return f"{name}: data are right, {ours / theirs:.3f} of astra-sim's time", True


def compare(program: Path, checkout: Path) -> Iterator[tuple[str, bool]]:
    """Print two tables; yield what is checked of each line, and whether it holds."""
    examples = checkout / "examples"
    benchmarks = examples / "workload" / "microbenchmarks"
    native = examples / "system" / "native_collectives" / "Ring_4chunks.json"
    print(heading("collective of 1 MiB", "ring here, µs", "astra-sim, µs", "ratio"))
    for kind, (steps, moved) in STEPS.items():
        for ranks in RANKS:
            traces = benchmarks / kind / f"{ranks}npus_1MB"
            theirs = their_time(program, checkout, traces / kind, ranks, native)
            ours = by_ring(ranks, steps(ranks), moved(ranks) // PARTS, PARTS)
            yield _compared(f"{kind}, {ranks} NPUs", theirs, ours)
    custom = examples / "system" / "custom_collectives"
    workload = benchmarks / "all_reduce" / "8npus_1MB" / "all_reduce"
    theirs = their_time(program, checkout, workload, 8, custom / "custom_collective.json")
    files = custom / "custom_ring_allreduce_8npus_1MB"
    yield _compared("custom ring, 8 NPUs, its traces", theirs, from_traces(files, 8))
    ours = custom_ring(files / "custom_allreduce.xml", 8)
    yield _compared("custom ring, 8 NPUs, its XML", theirs - REDUCTIONS_US, ours)
    print()
    print(
        heading(
            "direct sends of 1 MiB", "here, µs", "astra-sim, µs", "ratio", "here with credits of 64 KiB, µs"
        )
    )
    with tempfile.TemporaryDirectory() as name:
        system = _direct(native, Path(name))
        for kind in DIRECT:
            for ranks in RANKS:
                traces = benchmarks / kind / f"{ranks}npus_1MB"
                theirs = their_time(program, checkout, traces / kind, ranks, system)
                free = from_traces(traces, ranks, NO_BACK_PRESSURE)
                yield _compared(f"direct {kind}, {ranks} NPUs", theirs, free, from_traces(traces, ranks))
