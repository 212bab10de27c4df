# SPDX-License-Identifier: Apache-2.0
"""Programs that no P4 compiler of today writes: the JSON of tests/programs/wire.p4, changed by hand."""

import json
from pathlib import Path
from typing import Any

from emulation._engine import Network, Program

__all__ = [
    "Json",
    "add_header",
    "add_stack",
    "add_type",
    "call",
    "field",
    "header_type",
    "loaded",
    "number",
    "pipeline",
    "run_in",
    "wire",
]

Json = Any
_WIRE = Path(__file__).parent / "programs" / "build" / "wire.json"


def wire() -> Json:
    """A program of one header of a byte, `head`, whose table sends frames by its 5 bits `port`."""
    return json.loads(_WIRE.read_bytes())


def loaded(program: Json) -> tuple[Network, int]:
    network = Network()
    switch = network.add_switch("s")
    network.set_program(switch, Program(json.dumps(program).encode()))
    return network, switch


def field(header: str, name: str) -> Json:
    return {"type": "field", "value": [header, name]}


def number(value: int) -> Json:
    return {"type": "hexstr", "value": hex(value)}


def pipeline(program: Json, name: str) -> Json:
    return next(item for item in program["pipelines"] if item["name"] == name)


def header_type(program: Json, name: str) -> Json:
    return next(item for item in program["header_types"] if item["name"] == name)


def add_header(program: Json, name: str, type: str) -> int:
    id = 100 + len(program["headers"])
    program["headers"].append({"name": name, "id": id, "header_type": type, "metadata": False})
    return id


def add_stack(program: Json, name: str, *types: str) -> None:
    ids = [add_header(program, f"{name}[{at}]", type) for at, type in enumerate(types)]
    program["header_stacks"].append({"name": name, "id": 0, "header_ids": ids})


def add_type(program: Json, name: str, *fields: Json, **more: Json) -> None:
    program["header_types"].append({"name": name, "id": 99, "fields": list(fields), **more})


def run_in(program: Json, name: str, *primitives: Json) -> None:
    """Make the pipeline run these before all else."""
    program["actions"].append({"name": "added", "id": 99, "runtime_data": [], "primitives": list(primitives)})
    node = pipeline(program, name)
    node["tables"].append(
        {
            "name": "added",
            "key": [],
            "type": "simple",
            "max_size": 1,
            "action_ids": [99],
            "actions": ["added"],
            "next_tables": {"added": node["init_table"]},
            "default_entry": {"action_id": 99, "action_const": True, "action_data": []},
        }
    )
    node["init_table"] = "added"


def call(op: str, *parameters: Json) -> Json:
    return {"op": op, "parameters": list(parameters)}
