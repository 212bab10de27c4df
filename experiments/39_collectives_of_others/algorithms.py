# SPDX-License-Identifier: Apache-2.0
"""Algorithms of MSCCL on a full mesh and on a UB-Mesh rack, beside the lower bound of their operations."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from emulation.traffic.graph.document import write_graph
from harness.formats.imported import Imported, mesh_of
from harness.formats.msccl.graph import read_msccl
from papers.checking.statements import heading
from railyard.command import result_of

CHUNK_BYTES = 16_384
RACK = {"name": "ub-rack", "lane_rate_gbps": 100}


def measured(algorithms: Mapping[str, Imported], topology: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the metrics of each algorithm on a fabric, without those whose data are wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        variants = []
        for number, (algorithm, imported) in enumerate(algorithms.items()):
            write_graph(imported.graph, folder / f"{number}.json")
            variants.append({"name": f"a{number}", "title": algorithm, "graph": {"file": f"{number}.json"}})
        scenario = folder / "scenario.yaml"
        document = {"name": "algorithms", "title": "algorithms", "topology": topology, "variants": variants}
        # One plan serves all variants.
        YAML().dump({**document, "routing": {"weights": "oblivious"}}, scenario)
        _, result = result_of(scenario, "--no-report", "--quiet")
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
    for name, value in result.get("metrics", {}).items():
        variant, _, metric = name.partition(".")
        metrics[variant][metric] = value
    measurements = {algorithm: metrics[f"a{number}"] for number, algorithm in enumerate(algorithms)}
    return {name: own for name, own in measurements.items() if own and own["correct_npus"] == own["npus"]}


def compare(folder: Path) -> Iterator[tuple[str, bool]]:
    """Print a table; for each of its lines, yield a statement and whether the statement is true."""
    algorithms = {
        file.stem: read_msccl([file], chunk_bytes=CHUNK_BYTES) for file in sorted(folder.glob("*.xml"))
    }
    ranks = {name: len(_members(imported)) for name, imported in algorithms.items()}
    print(heading("algorithm", "GPUs", "frames", "full mesh, µs", "to bound", "rack, µs", "to bound"))
    mesh: dict[str, dict[str, float]] = {}
    for size in sorted({*ranks.values()}):
        mesh |= measured({name: algorithms[name] for name in ranks if ranks[name] == size}, mesh_of(size))
    rack = measured(algorithms, RACK)
    for name in algorithms:
        right = name in mesh and name in rack
        if right:
            on = (
                f"{own['completion_us']:,.2f} | {own['ratio_to_bound']:.2f}"
                for own in (mesh[name], rack[name])
            )
            print(f"| {name} | {ranks[name]} | {mesh[name]['sent_frames']:,.0f} | {' | '.join(on)} |")
        yield f"{name}: proved, and right on both fabrics", right


def _members(imported: Imported) -> Sequence[str]:
    """Return the GPUs of an algorithm, by the names of its operations."""
    return sorted({operation.id.partition(".")[0] for operation in imported.graph.operations})
