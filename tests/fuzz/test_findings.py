# SPDX-License-Identifier: Apache-2.0
"""Findings of the fuzz targets as small inputs: each gives a clear error or the right result."""

import json
import random
from collections.abc import Callable

import pytest

from emulation._engine import Program, ProgramError
from tests.emulation.engine.wires import Sink
from tests.fuzz import formats_target
from tests.fuzz.p4runtime_target import drive
from tests.programs_by_hand import (
    Json,
    add_header,
    add_stack,
    add_type,
    call,
    field,
    header_type,
    loaded,
    number,
    pipeline,
    run_in,
    wire,
)

_OK, _INVALID = 0, 4


def test_the_program_that_all_are_made_from() -> None:
    network, switch = loaded(wire())
    assert network.process(switch, 0, b"\x18x") == [(3, b"\x18x")]


# -- the loader: each was a crash, memory without bounds, or an error that said nothing


def _deep(program: Json) -> None:
    node: Json = field("head", "port")
    for _ in range(600):
        node = {"type": "expression", "value": node}
    run_in(program, "ingress", call("assign", field("head", "port"), node))


def _wide_action_data(program: Json) -> None:
    pipeline(program, "ingress")["tables"][1]["default_entry"] = {
        "action_id": 1,
        "action_data": ["0x200", "0x0"],
    }


def _two_headers_of_a_name(program: Json) -> None:
    add_header(program, "head", "head_t")


def _stack_of_two_types(program: Json) -> None:
    add_type(program, "other_t", ["left", 4, False], ["right", 4, False])
    add_stack(program, "stack", "other_t", "head_t")


def _stack_with_metadata(program: Json) -> None:
    program["header_stacks"].append({"name": "stack", "id": 0, "header_ids": [1]})


def _narrow_ingress_port(program: Json) -> None:
    header_type(program, "standard_metadata")["fields"][0][1] = 1


def _huge_registers(program: Json) -> None:
    program["register_arrays"].append({"name": "huge", "id": 0, "size": 1 << 24, "bitwidth": 2048})


def _varbit_of_4_kilobytes(program: Json) -> None:
    add_type(program, "long_t", ["bits", "*"], max_length=4096)
    add_header(program, "long", "long_t")


def _header_of_a_megabyte(program: Json) -> None:
    add_type(program, "long_t", *([f"f{at}", 2048, False] for at in range(4096)))
    add_header(program, "long", "long_t")


def _conditional_without_expression(program: Json) -> None:
    node = pipeline(program, "ingress")
    node["conditionals"].append({"name": "if", "next_tables": {}})
    node["init_table"] = "if"


def _two_ingresses(program: Json) -> None:
    program["pipelines"].append(pipeline(program, "ingress"))


def _ten_thousand_tables(program: Json) -> None:
    tables = pipeline(program, "ingress")["tables"]
    tables += [{**tables[1], "name": f"t{at}"} for at in range(10_000)]


def _empty_primitive_of_the_deparser(program: Json) -> None:
    program["deparsers"][0]["primitives"] = [{"op": "primitive", "parameters": []}]


def _last_of_a_stack_of_unions(program: Json) -> None:
    ids = [add_header(program, f"u{at}.head", "head_t") for at in range(3)]
    for at, id in enumerate(ids):
        program["header_unions"].append({"name": f"u{at}", "id": at, "header_ids": [id]})
    program["header_union_stacks"].append({"name": "us", "id": 0, "header_union_ids": [0, 1, 2]})
    value = {"type": "stack_field", "value": ["us", "port"]}
    run_in(program, "ingress", call("assign", field("head", "port"), value))


def _field_without_a_value(program: Json) -> None:
    equal = {"op": "==", "left": {"type": "field"}, "right": field("head", "port")}
    value = {"type": "expression", "value": {"op": "d2b", "right": equal}}
    run_in(program, "ingress", call("assign", field("head", "port"), value))


def _mask_without_a_value(program: Json) -> None:
    masked = {"op": "&", "left": field("head", "port"), "right": {"type": "hexstr"}}
    run_in(program, "ingress", call("assign", field("head", "port"), masked))


def _validity_as_a_target(program: Json) -> None:
    run_in(
        program, "ingress", call("modify_field_rng_uniform", field("head", "$valid$"), number(0), number(1))
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_deep, "nested deeper"),
        (_wide_action_data, "0x200 does not fit 9 bits"),
        (_two_headers_of_a_name, "header head: the name is used twice"),
        (_stack_of_two_types, "stack stack: the elements have different types"),
        (_stack_with_metadata, "stack stack: metadata"),
        (_narrow_ingress_port, "field ingress_port is not v1model's bit<9>"),
        (_huge_registers, "would take 4294967296 bytes"),
        (_varbit_of_4_kilobytes, "'max_length' is 4096"),
        (_header_of_a_megabyte, "header long: 1048576 bytes"),
        (_conditional_without_expression, "node if: a conditional has an expression"),
        (_two_ingresses, "two pipelines are named 'ingress'"),
        (_ten_thousand_tables, "10002 tables and conditionals"),
        (_empty_primitive_of_the_deparser, "'primitive' takes 1 parameter"),
        (_last_of_a_stack_of_unions, "is a stack of unions"),
        (_field_without_a_value, "action added: 'value' is missing"),
        (_mask_without_a_value, "action added: 'value' is missing"),
        (_validity_as_a_target, "cannot be assigned to"),
    ],
)
def test_refused_with_the_place_named(spoil: Callable[[Json], None], message: str) -> None:
    program = wire()
    spoil(program)
    with pytest.raises(ProgramError, match=message.replace("(", r"\(")):
        Program(json.dumps(program).encode())


# -- the way of a frame


def test_a_port_that_v1model_has_no_number_for_indexes_nothing() -> None:
    program = wire()
    pipeline(program, "ingress")["tables"][1]["key"][0]["target"] = ["standard_metadata", "ingress_port"]
    network, switch = loaded(program)
    assert network.table_insert(switch, 1, [(b"\x07", b"", 0)], 0, 1, [b"\x02", b"\x01"]) == _OK
    assert network.process(switch, (1 << 20) | 7, b"\x18") == [(2, b"\x08")]


def test_a_header_that_is_all_varbit_may_be_empty() -> None:
    program = wire()
    add_type(program, "tail_t", ["bits", "*"], max_length=4)
    add_header(program, "tail", "tail_t")
    state = program["parsers"][0]["parse_states"][0]
    state["parser_ops"].append(
        call("extract_VL", {"type": "regular", "value": "tail"}, {"type": "expression", "value": number(0)})
    )
    program["deparsers"][0]["order"].append("tail")
    network, switch = loaded(program)
    assert network.process(switch, 0, b"\x18x") == [(3, b"\x18x")]


def test_a_frame_of_no_bytes() -> None:
    network, switch = loaded(wire())
    assert network.process(switch, 0, b"") == [(0, b"")]


def test_a_clone_that_clones_itself_is_stopped() -> None:
    program = wire()
    run_in(program, "egress", call("clone_egress_pkt_to_egress", number(1), number(0)))
    network, switch = loaded(program)
    network.clone_set(switch, 1, [(4, 0)], 0)
    with pytest.raises(RuntimeError, match=r"cloned by egress 1000 times"):
        network.process(switch, 0, b"\x18")
    network.clone_delete(switch, 1)
    assert network.process(switch, 0, b"\x18") == [(3, b"\x18")]


def test_a_parser_that_asks_for_a_clone_of_other_fields() -> None:
    """The copy is parsed anew, and what it keeps was chosen before."""
    program = wire()
    many = [
        field("standard_metadata", name) for name, *_ in header_type(program, "standard_metadata")["fields"]
    ]
    program["field_lists"] = [
        {"id": 1, "name": "few", "elements": many[:1]},
        {"id": 2, "name": "many", "elements": many},
    ]
    state = program["parsers"][0]["parse_states"][0]
    clone = "clone_ingress_pkt_to_egress"
    state["parser_ops"].append(call("primitive", call(clone, number(1), number(2))))
    run_in(program, "ingress", call(clone, number(1), number(1)))
    network, switch = loaded(program)
    network.clone_set(switch, 1, [(4, 0)], 0)
    assert sorted(network.process(switch, 0, b"\x18")) == [(3, b"\x18"), (4, b"\x18")]


def test_a_pending_frame_of_a_program_that_is_gone_is_dropped() -> None:
    """Its slots mean something else to the next one, even where they are as many."""
    program = wire()
    run_in(program, "egress", call("assign", field("head", "port"), field("standard_metadata", "deq_qdepth")))
    network, switch = loaded(program)
    into = network.attach_host(switch, 0, 8 * 10**12, 0, 0)
    sink = Sink()
    network.set_handler(network.attach_host(switch, 3, 8 * 10**6, 0, 0), sink)
    for _ in range(3):
        network.send(into, b"\x18x", 0)
    network.run(10**6)  # one is being sent, two wait for their egress
    network.set_program(switch, Program(json.dumps(program).encode()))
    network.run()
    assert len(sink.seen) == 1


# -- the control plane


def test_weights_that_would_fill_the_memory() -> None:
    program = wire()
    ingress = pipeline(program, "ingress")
    selector = {"algo": "crc16", "input": [field("head", "port")]}
    ingress["action_profiles"] = [{"name": "group", "id": 0, "max_size": 16, "selector": selector}]
    ingress["tables"][1] |= {"type": "indirect_ws", "action_profile": "group"}
    network, switch = loaded(program)
    members = list(range(8))
    for id in members:
        assert network.member_insert(switch, 0, id, 1, [b"\x02", b"\x01"]) == _OK
    assert network.group_set(switch, 0, 1, [(id, 1 << 16) for id in members]) == _INVALID
    assert network.group_set(switch, 0, 1, [(id, 1 << 13) for id in members]) == _OK


def test_a_time_to_live_beyond_all_time() -> None:
    program = wire()
    pipeline(program, "ingress")["tables"][1]["support_timeout"] = True
    network, switch = loaded(program)
    keys = [(b"\x03", b"", 0)]
    assert network.table_insert(switch, 1, keys, 0, 1, [b"\x02", b"\x01"]) == _OK
    network.run(1000)
    assert network.table_set_ttl(switch, 1, keys, 0, (1 << 63) - 1) == _OK
    network.run(10**12)
    assert network.table_aged(switch, 1) == []


class Chance(random.Random):
    """The P4Runtime target's choices, for as long as it likes."""

    spent = False

    def below(self, count: int) -> int:
        return self.randrange(count)

    def bytes(self, count: int) -> bytes:
        return self.randbytes(count)


@pytest.mark.parametrize("seed", range(20))
def test_controllers_that_are_almost_right(seed: int) -> None:
    drive(Chance(seed))


# -- readers of other tools' files


def test_each_sample_of_the_formats_target_is_read() -> None:
    """The corpus begins with files that readers accept, but the trace of a single empty node."""
    for _, data in formats_target.seeds():
        formats_target.drive(data)
