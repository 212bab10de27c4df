# SPDX-License-Identifier: Apache-2.0
"""Primitives act on the metadata and headers that their arguments name."""

import pytest

from emulation._engine import Network, Program, ProgramError
from tests.emulation.engine.wires import PROGRAMS
from tests.programs_by_hand import Json, call, field, header_type, loaded, number, run_in, wire

FRAME = b"\x18x"
"""Leaves by port 3."""


def metadata(program: Json, name: str, type: str = "standard_metadata") -> None:
    program["headers"].append(
        {"name": name, "id": 200, "header_type": type, "metadata": True, "pi_omit": True}
    )


def header(name: str) -> Json:
    return {"type": "header", "value": name}


def copied_in_and_out(*between: Json) -> Json:
    """Run primitives on a copy of standard_metadata, as p4c compiles a parameter of that type."""
    program = wire()
    metadata(program, "copy")
    names = [
        name for name, *_ in header_type(program, "standard_metadata")["fields"] if not name.startswith("_")
    ]
    copy_in = [call("assign", field("copy", name), field("standard_metadata", name)) for name in names]
    copy_out = [call("assign", field("standard_metadata", name), field("copy", name)) for name in names]
    run_in(program, "egress", *copy_in, *between, *copy_out)
    return program


def test_mark_to_drop_acts_on_its_argument() -> None:
    network, switch = loaded(copied_in_and_out())
    assert network.process(switch, 0, FRAME) == [(3, FRAME)]
    network, switch = loaded(copied_in_and_out(call("mark_to_drop", header("copy"))))
    assert network.process(switch, 0, FRAME) == []


def test_mark_to_drop_of_a_copy_that_is_thrown_away_drops_nothing() -> None:
    program = wire()
    metadata(program, "copy")
    run_in(program, "egress", call("mark_to_drop", header("copy")))
    network, switch = loaded(program)
    assert network.process(switch, 0, FRAME) == [(3, FRAME)]


def test_mark_to_drop_clears_the_multicast_group_of_its_argument() -> None:
    program = wire()
    metadata(program, "copy")
    group = field("copy", "mcast_grp")
    run_in(
        program,
        "egress",
        call("assign", group, number(7)),
        call("mark_to_drop", header("copy")),
        call("assign", field("standard_metadata", "egress_spec"), group),
    )
    network, switch = loaded(program)
    assert network.process(switch, 0, FRAME) == [(3, FRAME)]


@pytest.mark.parametrize("argument", ["head", "scalars"])
def test_mark_to_drop_of_anything_else_is_refused(argument: str) -> None:
    program = wire()
    run_in(program, "egress", call("mark_to_drop", header(argument)))
    with pytest.raises(ProgramError, match=f"mark_to_drop of {argument}, which is no standard_metadata_t"):
        loaded(program)


def test_whole_metadata_can_be_assigned() -> None:
    program = wire()
    metadata(program, "copy")
    drop = field("standard_metadata", "egress_spec")
    run_in(
        program,
        "egress",
        call("assign_header", header("copy"), header("standard_metadata")),
        call("assign", drop, number(511)),
        call("assign_header", header("standard_metadata"), header("copy")),
    )
    network, switch = loaded(program)
    assert network.process(switch, 0, FRAME) == [(3, FRAME)]


def values(given: Json) -> Json:
    return {"type": "parameters_vector", "value": given}


@pytest.mark.parametrize(
    "last",
    [(), (values(None),), (values([]),), (values({}),)],
    ids=["left away", "null", "empty list", "empty object"],
)
def test_a_message_without_values(last: tuple[Json, ...]) -> None:
    program = wire()
    run_in(program, "ingress", call("log_msg", {"type": "string", "value": "here {} it is"}, *last))
    network, switch = loaded(program)
    network.set_logging(switch, True)
    assert network.process(switch, 0, FRAME) == [(3, FRAME)]
    item = network.take_control()
    assert item is not None
    assert (item[0], item[5]) == ("log", b"here {} it is")


# -- as p4c compiles them: tests/programs/by_argument.p4


@pytest.fixture
def network() -> Network:
    network = Network()
    network.add_switch("s")
    network.set_program(0, Program((PROGRAMS / "by_argument.json").read_bytes()))
    return network


@pytest.mark.parametrize(
    ("wish", "leaves"),
    [(0, True), (1, False), (2, False), (3, False), (4, True)],
    ids=["nothing", "action", "action of a table", "control of egress", "forwarded after all"],
)
def test_standard_metadata_as_a_parameter(network: Network, wish: int, leaves: bool) -> None:
    sent = bytes([6 << 3 | wish]) + b"x"
    assert network.process(0, 0, sent) == ([(6, sent)] if leaves else [])


def test_messages_as_p4c_compiles_them(network: Network) -> None:
    network.set_logging(0, True)
    network.process(0, 0, bytes([6 << 3 | 5]))
    told = []
    while item := network.take_control():
        told.append(item[5])
    assert told == [b"no {} value", b"port 6"]
