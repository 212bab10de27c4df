# SPDX-License-Identifier: Apache-2.0
"""A small v1model program with every kind of table, counter and register, as BMv2 JSON and p4info.

Written by hand so that tests can also ask for what a compiler never writes: `program()` returns both as plain
Python values, to be changed before `packed()` turns them into bytes.

It forwards a 10-byte header h { a 16, b 16, c 9, d 7, e 32 }: table `exact_table` on a, then `lpm_table`
on e, then `mixed_table` on b (ternary), c (range) and d (optional); the last hit wins.
"""

import json
from typing import Any

from finsy.proto import p4i
from google.protobuf import text_format

__all__ = ["CPU_PORT", "packed", "program"]

CPU_PORT = 510

_HEADERS: dict[str, list[tuple[str, int]]] = {
    "packet_in": [("ingress_port", 9), ("pad", 7)],
    "packet_out": [("egress_port", 9), ("pad", 7)],
    "h": [("a", 16), ("b", 16), ("c", 9), ("d", 7), ("e", 32)],
}
_STANDARD = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("parser_error", 32),
    ("priority", 3),
    ("_padding", 2),
]
_EMPTY = (
    *("header_stacks", "header_union_types", "header_unions", "header_union_stacks", "field_lists", "enums"),
    *("parse_vsets", "meter_arrays", "calculations", "learn_lists", "checksums", "force_arith"),
    *("extern_instances", "field_aliases"),
)
_ACTIONS = {"NoAction": [], "Ingress.forward": [("port", 9)], "Ingress.refuse": []}
# table: keys, actions, size, default action, constant default, direct counter
_TABLES: dict[str, dict[str, Any]] = {
    "exact_table": {"keys": [("a", "exact")], "size": 4, "default": "Ingress.refuse"},
    "lpm_table": {"keys": [("e", "lpm")], "size": 64},
    "mixed_table": {
        "keys": [("b", "ternary"), ("c", "range"), ("d", "optional")],
        "size": 64,
        "counter": True,
    },
    "const_table": {"keys": [("a", "exact")], "size": 1, "const": True, "const_default": True},
    "keyless_table": {"keys": [], "size": 1},
}
_FIELD_BITS = dict(_HEADERS["h"])
_KINDS = {"exact": 2, "lpm": 3, "ternary": 4, "range": 5, "optional": 6}


def program() -> tuple[dict[str, Any], p4i.P4Info]:
    """The BMv2 JSON and the p4info, made anew."""
    return _json(), _p4info()


def packed(bmv2: dict[str, Any], info: p4i.P4Info) -> tuple[bytes, bytes]:
    """Both as the bytes that a controller pushes."""
    return json.dumps(bmv2).encode(), text_format.MessageToString(info).encode()


def _field(header: str, name: str) -> dict[str, Any]:
    return {"type": "field", "value": [header, name]}


def _assign(to: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {"op": "assign", "parameters": [to, value]}


def _json() -> dict[str, Any]:
    headers = {"scalars": [], "standard_metadata": _STANDARD, **_HEADERS}
    egress_spec = _field("standard_metadata", "egress_spec")
    bodies = {
        "NoAction": [],
        "Ingress.forward": [_assign(egress_spec, {"type": "runtime_data", "value": 0})],
        "Ingress.refuse": [_assign(egress_spec, {"type": "hexstr", "value": "0x01ff"})],
        "count": [
            {
                "op": "count",
                "parameters": [
                    {"type": "counter_array", "value": "Ingress.ports"},
                    {"type": "hexstr", "value": "0x00000001"},
                ],
            }
        ],
    }
    actions = [
        {
            "name": name,
            "id": index,
            "runtime_data": [{"name": p, "bitwidth": bits} for p, bits in _ACTIONS.get(name, [])],
            "primitives": primitives,
        }
        for index, (name, primitives) in enumerate(bodies.items())
    ]
    ids = {action["name"]: action["id"] for action in actions}
    order = [f"Ingress.{name}" for name in _TABLES]
    tables = [
        _table(index, name, spec, ids, order[index + 1] if index + 1 < len(order) else "tbl_count")
        for index, (name, spec) in enumerate(_TABLES.items())
    ]
    # What p4c makes of a statement in apply: a table without a key that the p4info does not name.
    tables.append(_plain_table(len(tables), "tbl_count", [], ["count"], ids, "count", None))
    return {
        "program": "sampler.p4",
        "__meta__": {"version": [2, 23], "compiler": "tests"},
        "header_types": [
            {"name": f"{name}_t", "id": index, "fields": [[f, bits, False] for f, bits in fields]}
            for index, (name, fields) in enumerate(headers.items())
        ],
        "headers": [
            {
                "name": name,
                "id": index,
                "header_type": f"{name}_t",
                "metadata": name not in _HEADERS,
                "pi_omit": True,
            }
            for index, name in enumerate(headers)
        ],
        **{key: [] for key in _EMPTY},
        "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2]],
        "parsers": [_parser()],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "counter_arrays": [
            {"name": "Ingress.ports", "id": 0, "size": 8, "is_direct": False},
            {"name": "Ingress.mixed_counter", "id": 1, "is_direct": True, "binding": "Ingress.mixed_table"},
        ],
        "register_arrays": [{"name": "Ingress.memory", "id": 0, "size": 4, "bitwidth": 16}],
        "actions": actions,
        "pipelines": [
            {
                "name": "ingress",
                "id": 0,
                "init_table": order[0],
                "tables": tables,
                "action_profiles": [],
                "conditionals": [],
            },
            {
                "name": "egress",
                "id": 1,
                "init_table": None,
                "tables": [],
                "action_profiles": [],
                "conditionals": [],
            },
        ],
    }


def _parser() -> dict[str, Any]:
    def extract(header: str) -> dict[str, Any]:
        return {"op": "extract", "parameters": [{"type": "regular", "value": header}]}

    def always(to: str | None) -> dict[str, Any]:
        return {"type": "default", "value": None, "mask": None, "next_state": to}

    ingress_port = {"type": "field", "value": ["standard_metadata", "ingress_port"]}
    from_cpu = {"type": "hexstr", "value": f"0x{CPU_PORT:04x}", "mask": None, "next_state": "packet_out"}
    return {
        "name": "parser",
        "id": 0,
        "init_state": "start",
        "parse_states": [
            {
                "name": "start",
                "id": 0,
                "parser_ops": [],
                "transition_key": [ingress_port],
                "transitions": [from_cpu, always("h")],
            },
            {
                "name": "packet_out",
                "id": 1,
                "parser_ops": [extract("packet_out")],
                "transition_key": [],
                "transitions": [always("h")],
            },
            {
                "name": "h",
                "id": 2,
                "parser_ops": [extract("h")],
                "transition_key": [],
                "transitions": [always(None)],
            },
        ],
    }


def _table(index: int, name: str, spec: dict[str, Any], ids: dict[str, int], after: str) -> dict[str, Any]:
    keys = [
        # p4c writes an optional key as a ternary one.
        {
            "match_type": "ternary" if kind == "optional" else kind,
            "name": field,
            "target": ["h", field],
            "mask": None,
        }
        for field, kind in spec["keys"]
    ]
    table = _plain_table(
        index, f"Ingress.{name}", keys, list(_ACTIONS), ids, spec.get("default", "NoAction"), after
    )
    table["max_size"] = spec["size"]
    table["with_counters"] = bool(spec.get("counter"))
    table["default_entry"]["action_const"] = bool(spec.get("const_default"))
    if spec.get("const"):
        table["entries"] = [
            {
                "match_key": [{"match_type": "exact", "key": "0xffff"}],
                "action_entry": {"action_id": ids["Ingress.forward"], "action_data": ["0x0007"]},
                "priority": 1,
            }
        ]
    return table


def _plain_table(
    index: int,
    name: str,
    keys: list[dict[str, Any]],
    actions: list[str],
    ids: dict[str, int],
    default: str,
    after: str | None,
) -> dict[str, Any]:
    kinds = [key["match_type"] for key in keys]
    return {
        "name": name,
        "id": index,
        "key": keys,
        "match_type": next((kind for kind in ("range", "ternary", "lpm") if kind in kinds), "exact"),
        "type": "simple",
        "max_size": 1024,
        "with_counters": False,
        "support_timeout": False,
        "direct_meters": None,
        "action_ids": [ids[action] for action in actions],
        "actions": actions,
        "base_default_next": after,
        "next_tables": dict.fromkeys(actions, after),
        "default_entry": {
            "action_id": ids[default],
            "action_const": False,
            "action_data": [],
            "action_entry_const": False,
        },
    }


def _p4info() -> p4i.P4Info:
    info = p4i.P4Info()
    info.pkg_info.arch = "v1model"
    action_ids = {}
    for index, (name, params) in enumerate(_ACTIONS.items(), start=0x01000001):
        action = info.actions.add()
        action.preamble.id, action.preamble.name = index, name
        action.preamble.alias = name.rpartition(".")[2]
        for number, (param, bits) in enumerate(params, start=1):
            action.params.add(id=number, name=param, bitwidth=bits)
        action_ids[name] = index
    for index, (name, spec) in enumerate(_TABLES.items(), start=0x02000001):
        table = info.tables.add(size=spec["size"])
        table.preamble.id, table.preamble.name, table.preamble.alias = index, f"Ingress.{name}", name
        for number, (field, kind) in enumerate(spec["keys"], start=1):
            key = table.match_fields.add(id=number, name=field, bitwidth=_FIELD_BITS[field])
            key.match_type = _KINDS[kind]  # pyright: ignore[reportAttributeAccessIssue]
        for action, action_id in action_ids.items():
            reference = table.action_refs.add(id=action_id)
            if action == "NoAction":
                reference.scope = p4i.ActionRef.DEFAULT_ONLY
        table.is_const_table = table.has_initial_entries = bool(spec.get("const"))
        if spec.get("const_default"):
            table.const_default_action_id = action_ids["NoAction"]
        if spec.get("counter"):
            counter = info.direct_counters.add(direct_table_id=index)
            counter.preamble.id, counter.preamble.name = 0x13000001, "Ingress.mixed_counter"
            counter.preamble.alias = "mixed_counter"
            counter.spec.unit = p4i.CounterSpec.BOTH
            table.direct_resource_ids.append(counter.preamble.id)
    ports = info.counters.add(size=8)
    ports.preamble.id, ports.preamble.name, ports.preamble.alias = 0x12000001, "Ingress.ports", "ports"
    ports.spec.unit = p4i.CounterSpec.BOTH
    memory = info.registers.add(size=4)
    memory.preamble.id, memory.preamble.name, memory.preamble.alias = 0x16000001, "Ingress.memory", "memory"
    memory.type_spec.bitstring.bit.bitwidth = 16
    for index, name in enumerate(("packet_in", "packet_out"), start=0x04000001):
        header = info.controller_packet_metadata.add()
        header.preamble.id, header.preamble.name = index, name
        for number, (field, bits) in enumerate(_HEADERS[name], start=1):
            header.metadata.add(id=number, name=field, bitwidth=bits)
    return info
