# SPDX-License-Identifier: Apache-2.0
"""The readers of other tools' files: any bytes give a value, or an error that names the file.

The first byte of an input chooses the format, and which file of it the other bytes are.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import FormatError
from harness.formats import simai
from harness.formats.detection import format_of
from harness.formats.registry import read_files
from tests.harness.formats import samples
from tests.harness.formats.test_mscclpp import packets
from topologies.errors import TopologyError

__all__ = ["FILES", "drive", "seeds", "shorten"]

_CASE = {"node": samples.NODES, "topology": samples.LINKS, "traffic": samples.TASKS, "fault": samples.FAULTS}
_ATTRIBUTES = 'default ns3::UbTransportChannel::EnableRetrans "false"\n'
_TREE = """Nodes 4
Tiers 2
Podsize 4

Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""
# (format, file that holds the input, its sample)
FILES = (
    ("goal", "sample.goal", samples.GOAL),
    ("htsim", "sample.cm", samples.MATRIX),
    ("htsim", "tree.topo", _TREE),
    ("msccl", "sample.xml", samples.ring()),
    ("mscclpp", "sample.json", json.dumps(packets())),
    ("simai", "sample.txt", samples.WORKLOAD),
    ("chakra", "sample.1.json", samples.ESI),
    ("chakra", "sample.0.et", "\x04\n\x020."),
    *(("ns-3-ub", f"{name}.csv", text) for name, text in _CASE.items()),
    ("ns-3-ub", "network_attribute.txt", _ATTRIBUTES),
)


def shorten() -> None:
    """Let a workload have few operations: a number in the file stands for many, and a run shall be short."""
    simai.MAX_OPERATIONS = 1 << 12


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield an input for each file, with a name for it."""
    for number, (name, file, text) in enumerate(FILES):
        yield f"{name}-{file}", bytes([number]) + text.encode()


def drive(data: bytes) -> None:
    """Read an input as the file that its first byte chooses."""
    if not data:
        return
    name, file, _ = FILES[data[0] % len(FILES)]
    with tempfile.TemporaryDirectory(dir=_memory()) as place:
        folder = Path(place)
        if name == "ns-3-ub":
            for part, text in _CASE.items():
                (folder / f"{part}.csv").write_text(text)
        if file.endswith(".topo"):
            (folder / "sample.cm").write_text(samples.MATRIX)
        (folder / file).write_bytes(data[1:])
        paths = [folder] if name == "ns-3-ub" else sorted(folder.iterdir())
        try:
            format_of(paths[0])
            read_files(name, paths)
        except FormatError as ex:
            if place not in str(ex):
                raise AssertionError(f"the error names no file: {ex}") from ex
        except TopologyError:
            pass  # a node or a link of the fabric is at fault, and named


def _memory() -> str | None:
    """Return a folder in memory, where there is one: an input is a file a thousand times a second."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
