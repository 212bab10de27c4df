# SPDX-License-Identifier: Apache-2.0
"""Find the format of another tool's file by its ending; for .json and .txt files by their content."""

from pathlib import Path

from harness.formats.documents import read_json
from harness.formats.htsim_plan import is_plan
from harness.formats.text import open_file

__all__ = ["format_of"]

_BY_ENDING = {".xml": "msccl", ".et": "chakra", ".goal": "goal", ".cm": "htsim", ".topo": "htsim"}
_BY_KEY = {"gpus": "mscclpp", "workload_graph": "chakra"}
_HEAD_BYTES = 4096


def format_of(path: Path) -> str | None:
    """Return the name of the format of a file or folder; None for an unknown format, such as a scenario.

    Raises FormatError if a .json or .txt file cannot be read.
    """
    if path.is_dir():
        if (path / "node.csv").exists() and (path / "traffic.csv").exists():
            return "ns-3-ub"
        return "chakra" if any(path.glob("*.et")) or any(path.glob("*.et.gz")) else None
    name = path.name.removesuffix(".gz")
    ending = Path(name).suffix
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if ending == ".json":
        document = read_json(path)
        return next((known for key, known in _BY_KEY.items() if key in document), None)
    if ending == ".txt":
        with open_file(path) as file:
            head = file.readline(_HEAD_BYTES)
        if b"all_gpus" in head:
            return "simai"
        return "htsim-plan" if is_plan(path) else None
    return None
