# SPDX-License-Identifier: Apache-2.0
"""Reader of Chakra traces in ESI's JSON: one file per rank, whose `workload_graph` lists nodes.

    {"workload_graph": [{"Id": 7, "Name": "...", "NodeType": 4, "runtime": 28, "data_deps": [], ...}]}

NodeType has the numbers of the protobuf schema; `runtime` is in microseconds. Attributes of communication are
keys of the node, such as comm_type and comm_size. A node without `NodeType` or `data_deps` is refused.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.formats.chakra.node import Node
from harness.formats.documents import read_json

__all__ = ["read_esi"]

_ATTRIBUTES = (
    "is_cpu_op", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "pg_name", "root_rank",
)  # fmt: skip


def read_esi(path: Path) -> Iterator[Node]:
    """Yield the nodes of a trace; an invalid file raises FormatError with file and line."""
    document = read_json(path)
    if "nodes" in document and "schema" in document:
        document.refuse(
            "the file is a trace of PyTorch's execution observer, not of Chakra",
            remedy="convert it with chakra_trace_link and chakra_converter",
        )
    for row in document.child("workload_graph").elements():
        values = {}
        for key in _ATTRIBUTES:
            if key in row:
                item = row.child(key)
                if not isinstance(item.value, str | int):
                    item.refuse(
                        f"{key} is neither a number, nor a text, nor a boolean",
                        "give a number, a text, true or false",
                    )
                values[key] = item.value if isinstance(item.value, str | bool) else item.number(low=-1)
        waits = row.child("data_deps").elements()
        yield Node(
            row.integer("Id"),
            row.text("Name", ""),
            row.integer("NodeType", high=7),
            tuple(item.number() for item in waits),
            row.integer("runtime", default=0),
            values,
        )
