# SPDX-License-Identifier: Apache-2.0
"""Every extern of core.p4 and v1model.p4, in small programs with STF tests on the engine and on BMv2."""

import shutil
import subprocess
from pathlib import Path

import pytest

from emulation._engine import Network, Program, ProgramError
from tests.differential.stf.compiled import COMPILER
from tests.differential.stf.run import Case, differences
from tests.v1model.declared import CONSTANTS, EXTERNS, REFUSED, calls, constants_in, externs_in

HERE = Path(__file__).parent
PROGRAMS = sorted(source.stem for source in HERE.glob("*.p4"))
REFUSED_BY_SWITCHES = "hash_random"
RUN = [name for name in PROGRAMS if name != REFUSED_BY_SWITCHES]

PROBE = bytes([0, 7, 0x12, 0x34, 0, 0, 0, 0])
"""The header of include/frame.p4; the first byte says what the program does."""


def case(name: str) -> Case:
    return Case(HERE / f"{name}.stf", HERE / "build" / f"{name}.json")


def network_with(name: str) -> Network:
    network = Network()
    network.add_switch("s")
    network.set_program(0, Program((HERE / "build" / f"{name}.json").read_bytes()))
    return network


def handle(name: str, table: str) -> int:
    tables = Program((HERE / "build" / f"{name}.json").read_bytes()).tables
    return next(item["handle"] for item in tables if item["name"] == f"TestIngress.{table}")


def wish(what: int) -> bytes:
    return bytes([what]) + PROBE[1:]


# -- the list is complete, and the programs use what it says


@pytest.mark.bmv2(cli=True)
def test_the_list_is_that_of_the_installed_p4c() -> None:
    compiler = shutil.which(COMPILER)
    if compiler is None:
        pytest.skip(f"{COMPILER} is not on the PATH")
    above = Path(compiler).resolve().parents  # a build tree, or the prefix of an installation
    places = [*above, *(place / "share" / "p4c" for place in above)]
    include = next(place / "p4include" for place in places if (place / "p4include" / "v1model.p4").exists())
    text = "".join((include / name).read_text() for name in ("core.p4", "v1model.p4"))
    assert externs_in(text) == EXTERNS.keys()
    assert constants_in(text) == CONSTANTS.keys()


@pytest.mark.parametrize("extern", EXTERNS, ids=lambda extern: "-".join(map(str, extern)))
def test_an_extern_is_called_by_its_program(extern: tuple[str, str, int]) -> None:
    name, method, arity = extern
    assert (method or name, arity) in set(calls(HERE / f"{EXTERNS[extern]}.p4"))


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_is_used_by_its_program(constant: str) -> None:
    assert constant in (HERE / f"{CONSTANTS[constant]}.p4").read_text()


# -- both switches


@pytest.mark.parametrize("name", RUN)
def test_on_the_engine(name: str) -> None:
    assert differences(case(name), "engine") == []


@pytest.mark.bmv2(cli=True)
@pytest.mark.parametrize("name", RUN)
def test_on_bmv2(name: str) -> None:
    assert differences(case(name), "BMv2") == []


def test_a_random_hash_is_refused_by_the_engine() -> None:
    with pytest.raises(ProgramError, match="random"):
        network_with(REFUSED_BY_SWITCHES)


@pytest.mark.bmv2(cli=True)
def test_a_random_hash_is_refused_by_bmv2(tmp_path: Path) -> None:
    stf = tmp_path / "nothing.stf"
    stf.write_text("packet 0 00\n")
    (message,) = differences(Case(stf, case(REFUSED_BY_SWITCHES).program), "BMv2")
    assert message.startswith("simple_switch did not start")


@pytest.mark.bmv2(cli=True)
@pytest.mark.parametrize("name", REFUSED)
def test_the_compiler_refuses(name: str, tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not on the PATH")
    command = [COMPILER, "--arch", "v1model", "--Wdisable", "-o", tmp_path / "x.json", HERE / f"{name}.p4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "error: " in done.stderr


# -- what no frame shows


def test_a_digest_reaches_the_control_plane() -> None:
    network = network_with("digests")
    network.packet_out(0, wish(2))
    network.run()
    assert network.take_control() is None
    network.packet_out(0, wish(1))
    network.run()
    item = network.take_control()
    assert item is not None
    assert (item[0], item[5]) == ("digest", (510).to_bytes(2) + bytes([0x12, 0x34]))


def test_messages_are_logged() -> None:
    network = network_with("messages")
    network.set_logging(0, True)
    network.process(0, 5, wish(0))
    messages = []
    while item := network.take_control():
        messages.append(item[5])
    assert messages == [b"a frame", b"number 4660 of port 5"]


@pytest.mark.parametrize(("what", "line"), [(1, "what != 1"), (2, "what != 2")])
def test_an_assertion_stops_the_frame_and_names_its_source(what: int, line: str) -> None:
    network = network_with("assertions")
    with pytest.raises(RuntimeError, match=line):
        network.process(0, 0, wish(what))


def test_direct_counters_count_the_hits_of_their_entry() -> None:
    network, table = network_with("counters"), handle("counters", "answers")
    key = [(b"\x07", b"", 0)]
    assert network.table_insert(0, table, key, 0, 1, [bytes(4)]) == 0
    for small in (7, 8, 7, 7):
        network.process(0, 0, bytes([0, small]) + PROBE[2:])
    entry = network.table_get(0, table, key, 0)
    assert entry is not None
    assert entry[-2:] == (3, 3 * len(PROBE))


def test_direct_meters_colour_the_hits_of_their_entry() -> None:
    network, table = network_with("meters"), handle("meters", "entries")
    key = [(b"\x07", b"", 0)]
    assert network.table_insert(0, table, key, 0, 1, []) == 0
    assert network.direct_meter_write(0, table, key, 0, (0, 1, 0, 2)) == 0
    colours = [network.process(0, 0, PROBE)[0][1][5] for _ in range(4)]
    assert colours == [0, 1, 2, 2]


def test_members_of_an_action_profile_are_shared() -> None:
    network, table = network_with("action_profiles"), handle("action_profiles", "shared")
    assert network.member_insert(0, 0, 1, 2, [b"\x56\x78"]) == 0
    for what in (1, 2):
        assert network.table_point(0, table, [(bytes([what]), b"", 0)], 0, False, 1, True) == 0
        assert network.process(0, 0, wish(what))[0][1][2:4] == b"\x56\x78"
