# SPDX-License-Identifier: Apache-2.0
"""v1model programs as BMv2's JSON, built from statements without a compiler.

A program has metadata, a header `order` in every frame, and behind it a header `note` that only the program
adds. Both controls are sequences of statements.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from controller.p4runtime.client import ProgramFiles

__all__ = [
    "If",
    "Json",
    "Op",
    "Statement",
    "apply",
    "assign",
    "constant",
    "log",
    "metadata",
    "note",
    "operation",
    "order",
    "program",
    "standard",
]

# Standard metadata, aliases and errors are those of any program of p4c.
_OTHER = Path(__file__).resolve().parents[2] / "programs" / "build" / "copies.json"

Json = dict[str, Any]

ORDER = (
    *(("ingress_first", 3), ("ingress_second", 3), ("egress_first", 3), ("egress_second", 3)),
    *(("recirculated", 4), ("number", 16), ("instance", 8), ("port", 8), ("rid", 16), ("kept", 16)),
    *(("length", 16), ("checksum", 16), ("choice", 32)),
)
"""Fields of the header `order`, with their widths in bits."""
_NOTE = (("seen", 16), ("kept", 16))
_METADATA = (("kept", 16), ("lost", 16), ("recirculated", 8), ("digest_number", 16), ("digest_kept", 16))
# Field lists by their index: 1 for further passes, 2 for clones, 3 preserves nothing.
_FIELD_LISTS = {1: ("kept", "lost"), 2: ("kept",), 3: ()}
_DIGEST = ("digest_number", "digest_kept")


@final
@dataclass(frozen=True, slots=True)
class Op:
    """A primitive of BMv2, such as `assign` or `truncate`."""

    document: Json


@final
@dataclass(frozen=True, slots=True)
class If:
    """A condition, the statements where it holds and those where it does not."""

    condition: Json
    then: Sequence["Statement"]
    otherwise: Sequence["Statement"] = ()


Statement = Op | If


def order(name: str) -> Json:
    """Return a field of the header `order`."""
    return {"type": "field", "value": ["order", name]}


def note(name: str) -> Json:
    """Return a field of the header `note`."""
    return {"type": "field", "value": ["note", name]}


def metadata(name: str) -> Json:
    """Return a field of the program's own metadata."""
    return {"type": "field", "value": ["scalars", name]}


def standard(name: str) -> Json:
    """Return a field of the standard metadata."""
    return {"type": "field", "value": ["standard_metadata", name]}


def constant(value: int) -> Json:
    """Return a number."""
    return {"type": "hexstr", "value": hex(value)}


def operation(op: str, left: Json, right: Json) -> Json:
    """Return an expression of two operands."""
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}


def apply(op: str, *parameters: Json) -> Op:
    """Return a primitive with its parameters."""
    return Op({"op": op, "parameters": list(parameters)})


def assign(target: Json, value: Json, bits: int | None = None) -> Op:
    """Return an assignment; a computed value is cut to `bits`."""
    if bits is not None:
        value = operation("&", value, constant((1 << bits) - 1))
    if value["type"] == "expression":
        value = {"type": "expression", "value": value}
    return apply("assign", target, value)


def log(text: str) -> Op:
    """Return a log message without values."""
    return apply("log_msg", {"type": "string", "value": text}, {"type": "parameters_vector", "value": {}})


def program(ingress: Sequence[Statement], egress: Sequence[Statement]) -> ProgramFiles:
    """Return the JSON and the p4info of a program; a checksum of `order` covers the payload."""
    document: Json = json.loads(_OTHER.read_bytes())
    other_types = {item["name"]: item for item in document["header_types"]}
    types = {
        "scalars_0": [*_METADATA],
        "standard_metadata": other_types["standard_metadata"]["fields"],
        "note_t": [*_NOTE],
        "order_t": [*ORDER],
    }
    document["header_types"] = [
        {"name": name, "id": number, "fields": [[*entry[:2], False] for entry in fields]}
        for number, (name, fields) in enumerate(types.items())
    ]
    document["field_lists"] = [
        {"id": id, "name": f"list{id}", "elements": [metadata(name) for name in names]}
        for id, names in _FIELD_LISTS.items()
    ]
    document["learn_lists"] = [
        {"id": 1, "name": "digest_t", "elements": [metadata(name) for name in _DIGEST]}
    ]
    document["deparsers"] = [{"name": "deparser", "id": 0, "order": ["order", "note"], "primitives": []}]
    summed = [order("number"), order("length"), {"type": "payload", "value": None}]
    document["calculations"] = [{"name": "sum", "id": 0, "algo": "csum16", "input": summed}]
    checksum: Json = {"name": "checksum", "id": 0, "target": ["order", "checksum"], "type": "generic"}
    checksum |= {"calculation": "sum", "verify": False, "update": True, "if_cond": None}
    document["checksums"] = [checksum]
    nodes = _Nodes()
    document["pipelines"] = [
        nodes.pipeline(number, name, [If(_VALID, statements)])
        for number, (name, statements) in enumerate((("ingress", ingress), ("egress", egress)))
    ]
    document["actions"] = nodes.actions
    document["program"] = "effects.p4"
    return ProgramFiles(json.dumps(document).encode(), _P4INFO.encode())


_VALID: Json = {
    "type": "expression",
    "value": {"op": "d2b", "left": None, "right": {"type": "field", "value": ["order", "$valid$"]}},
}


@final
@dataclass(slots=True)
class _Nodes:
    """Actions of a program, and the tables and conditions of the pipeline that is being laid out."""

    actions: list[Json] = field(default_factory=list)
    _tables: list[Json] = field(default_factory=list)
    _conditions: list[Json] = field(default_factory=list)

    def pipeline(self, number: int, name: str, statements: Sequence[Statement]) -> Json:
        self._tables, self._conditions = [], []
        first = self._lay(statements, None)
        document: Json = {"name": name, "id": number, "init_table": first, "action_profiles": []}
        return document | {"tables": self._tables, "conditionals": self._conditions}

    def _lay(self, statements: Sequence[Statement], after: str | None) -> str | None:
        """Return the name of the first node of statements that are followed by the node `after`."""
        operations: list[Json] = []
        for statement in reversed(statements):
            if isinstance(statement, Op):
                operations.insert(0, statement.document)
                continue
            after = self._action(operations, after)
            operations = []
            branches = (self._lay(branch, after) for branch in (statement.then, statement.otherwise))
            true_next, false_next = branches
            after = self._named("node", self._conditions)
            condition: Json = {"name": after, "id": len(self._conditions), "expression": statement.condition}
            self._conditions.append(condition | {"true_next": true_next, "false_next": false_next})
        return self._action(operations, after)

    def _named(self, prefix: str, nodes: list[Json]) -> str:
        return f"{prefix}_{len(self.actions)}_{len(nodes)}"

    def _action(self, operations: list[Json], after: str | None) -> str | None:
        """Return the name of a table without a key that runs the operations; `after` if there are none."""
        if not operations:
            return after
        name = self._named("act", self._tables)
        number = len(self.actions)
        self.actions.append({"name": name, "id": number, "runtime_data": [], "primitives": operations})
        entry: Json = {"action_id": number, "action_const": True, "action_data": []}
        table: Json = {
            "name": f"tbl_{name}",
            "id": number,
            "key": [],
            "match_type": "exact",
            "type": "simple",
        }
        table |= {"max_size": 1024, "with_counters": False, "support_timeout": False, "direct_meters": None}
        table |= {"action_ids": [number], "actions": [name], "base_default_next": after}
        table |= {"next_tables": {name: after}, "default_entry": entry | {"action_entry_const": True}}
        self._tables.append(table)
        return f"tbl_{name}"


_MEMBERS = "".join(
    f'members {{ name: "{name}" type_spec {{ bitstring {{ bit {{ bitwidth: 16 }} }} }} }}\n'
    for name in _DIGEST
)
_P4INFO = f"""\
pkg_info {{ arch: "v1model" }}
digests {{
  preamble {{ id: 389049336 name: "digest_t" alias: "digest_t" }}
  type_spec {{ struct {{ name: "digest_t" }} }}
}}
type_info {{ structs {{ key: "digest_t" value {{ {_MEMBERS} }} }} }}
"""
