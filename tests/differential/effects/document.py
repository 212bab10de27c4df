# SPDX-License-Identifier: Apache-2.0
"""v1model programs as BMv2's JSON, built from statements without a compiler.

A program has metadata, a header `order` in every frame, and behind it a header `note` that only the program
adds. Both controls are sequences of statements; some of them are tables with constant entries.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, final

from controller.p4runtime.client import ProgramFiles

__all__ = [
    "Action",
    "Entry",
    "If",
    "Json",
    "Op",
    "Statement",
    "Table",
    "apply",
    "assign",
    "constant",
    "log",
    "metadata",
    "note",
    "operation",
    "order",
    "parameter",
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
_METADATA = (
    *(("kept", 16), ("lost", 16), ("recirculated", 8), ("allowed", 8)),
    *(("digest_number", 16), ("digest_kept", 16)),
)
_PARAMETER_BITS = 32
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


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action of a table: primitives, and the number of their parameters, which have 32 bits each."""

    operations: Sequence[Op]
    parameters: int = 0


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: value and mask of each key, the position of its action, and the action's arguments."""

    keys: Sequence[tuple[int, int]]
    action: int
    arguments: Sequence[int] = ()


@final
@dataclass(frozen=True, slots=True)
class Table:
    """The application of a table with ternary keys and constant entries, of which the first match counts.

    The last action is the default action and takes no parameters. `hit` and `miss` follow the application.
    """

    keys: Sequence[Json]
    actions: Sequence[Action]
    entries: Sequence[Entry]
    hit: Sequence["Statement"] = ()
    miss: Sequence["Statement"] = ()


Statement = Op | If | Table


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


def parameter(position: int) -> Json:
    """Return a parameter of the action."""
    return {"type": "runtime_data", "value": position}


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
    _numbers: Iterator[int] = field(default_factory=count)
    _tables: list[Json] = field(default_factory=list)
    _conditions: list[Json] = field(default_factory=list)

    def pipeline(self, number: int, name: str, statements: Sequence[Statement]) -> Json:
        self._tables, self._conditions = [], []
        first = self._lay(statements, None)
        document: Json = {"name": name, "id": number, "init_table": first, "action_profiles": []}
        return document | {"tables": self._tables, "conditionals": self._conditions}

    def _lay(self, statements: Sequence[Statement], after: str | None) -> str | None:
        """Return the name of the first node of statements that are followed by the node `after`."""
        operations: list[Op] = []
        for statement in reversed(statements):
            if isinstance(statement, Op):
                operations.insert(0, statement)
                continue
            after = self._in_place(operations, after)
            operations = []
            after = self._if(statement, after) if isinstance(statement, If) else self._table(statement, after)
        return self._in_place(operations, after)

    def _in_place(self, operations: Sequence[Op], after: str | None) -> str | None:
        """Return the name of a table without a key that runs the operations; `after` if there are none."""
        return self._table(Table((), (Action(operations),), ()), after) if operations else after

    def _if(self, statement: If, after: str | None) -> str:
        true_next, false_next = (self._lay(branch, after) for branch in (statement.then, statement.otherwise))
        name = f"node_{next(self._numbers)}"  # BMv2 wants names that no other pipeline has
        condition: Json = {"name": name, "id": len(self._conditions), "expression": statement.condition}
        self._conditions.append(condition | {"true_next": true_next, "false_next": false_next})
        return name

    def _table(self, table: Table, after: str | None) -> str:
        hit, miss = (self._lay(branch, after) for branch in (table.hit, table.miss))
        first = len(self.actions)
        for number, action in enumerate(table.actions, start=first):
            data = [{"name": f"p{at}", "bitwidth": _PARAMETER_BITS} for at in range(action.parameters)]
            primitives = [operation.document for operation in action.operations]
            self.actions.append({"name": f"act_{number}", "id": number, "runtime_data": data})
            self.actions[-1]["primitives"] = primitives
        ids = range(first, len(self.actions))
        names = [f"act_{number}" for number in ids]
        name = f"tbl_{first}"
        match = "ternary" if table.keys else "exact"
        document: Json = {"name": name, "id": len(self._tables), "match_type": match, "type": "simple"}
        document["key"] = [
            {"match_type": match, "name": str(at), "target": key["value"], "mask": None}
            for at, key in enumerate(table.keys)
        ]
        document |= {"max_size": 1024, "with_counters": False, "support_timeout": False}
        document |= {"direct_meters": None, "action_ids": [*ids], "actions": names}
        if table.hit or table.miss:
            document |= {"base_default_next": None, "next_tables": {"__HIT__": hit, "__MISS__": miss}}
        else:
            document |= {"base_default_next": after, "next_tables": dict.fromkeys(names, after)}
        default: Json = {"action_id": ids[-1], "action_const": True, "action_data": []}
        document["default_entry"] = default | {"action_entry_const": True}
        if table.keys:
            document["entries"] = [
                _entry(table, entry, ids[entry.action], priority)
                for priority, entry in enumerate(table.entries, start=1)
            ]
        self._tables.append(document)
        return name


_KEY_BITS = {"order": dict(ORDER), "scalars": dict(_METADATA)}


def _entry(table: Table, entry: Entry, action_id: int, priority: int) -> Json:
    """Return the JSON of a constant entry."""
    keys: list[Json] = []
    for key, (value, mask) in zip(table.keys, entry.keys, strict=True):
        header, name = key["value"]
        # BMv2 reads as many bytes as the field has.
        digits = 2 * -(-_KEY_BITS[header][name] // 8)
        keys.append({"match_type": "ternary", "key": f"0x{value:0{digits}x}", "mask": f"0x{mask:0{digits}x}"})
    data = [hex(argument) for argument in entry.arguments]
    return {
        "match_key": keys,
        "action_entry": {"action_id": action_id, "action_data": data},
        "priority": priority,
    }


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
