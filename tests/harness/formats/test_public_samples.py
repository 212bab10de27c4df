# SPDX-License-Identifier: Apache-2.0
"""Public files of other tools, in any folders below `pytest --samples FOLDER`: each is read.

Algorithms of RCCL (tools/msccl-algorithms) and msccl-tools, plans of MSCCL++'s tests in a folder mscclpp,
microbenchmarks of astra-sim, traces of Chakra's tests, matrices of htsim,
example workloads of SimAI, binary_tree_32.goal of LogGOPSim, and the cases of ns-3-UB have been read so.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.formats.registry import read_files

_ENDINGS = {".xml": "msccl", ".goal": "goal", ".cm": "htsim", ".txt": "simai"}


def _samples(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json" and path.parent.name == "mscclpp":
            yield "mscclpp", path
        elif path.suffix in _ENDINGS and path.name != "network_attribute.txt":
            yield _ENDINGS[path.suffix], path
        elif path.is_dir() and any((*path.glob("*.et"), *path.glob("chakra.*.json"))):
            yield "chakra", path
        elif (path / "traffic.csv").exists():
            yield "ns-3-ub", path


def test_public_samples(request: pytest.FixtureRequest) -> None:
    folder = request.config.getoption("--samples")
    if folder is None:
        pytest.skip("needs public files of other tools: --samples FOLDER")
    samples = list(_samples(Path(folder)))
    assert samples, f"no file of a known format below {folder}"
    for name, path in samples:
        imported = read_files(name, [path])
        if imported.collective:
            assert imported.collective["algorithm"] == "switch-tree", path
            continue
        assert imported.graph.operations
        if name in ("msccl", "mscclpp"):
            assert any(note.startswith("Every GPU ends") for note in imported.notes), path
