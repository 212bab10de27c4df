# SPDX-License-Identifier: Apache-2.0
"""The STF runner: its language, its names, its verdict, and the same tests on both switches."""

import json
import os
from pathlib import Path

import pytest

from tests.differential.stf.compiled import corpus
from tests.differential.stf.language import (
    Add,
    CheckCounter,
    Command,
    Expect,
    Packet,
    SetDefault,
    StfError,
    parse,
)
from tests.differential.stf.names import Names
from tests.differential.stf.run import Case, differences, run_all
from tests.differential.stf.verdict import verdict

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "programs" / "build" / "every_match.json"
OWN = Case(HERE / "every_match.stf", PROGRAM)

P4C = os.environ.get("RAILYARD_P4C", "")
CORPUS = [Case(stf, stf.with_suffix(".p4")) for stf in corpus(Path(P4C))] if P4C else []
NO_CORPUS = "set RAILYARD_P4C to a checkout of https://github.com/p4lang/p4c to run its v1model tests"
# It calls a C++ function that its own test loads into simple_switch.
NOT_OURS = {"extern-funcs-bmv2"}


def test_language() -> None:
    text = """
    # a comment
    add ingress.t 10 h$1.a:0x2*  "h.b c":0x0a00/16 "act"(x:1, "y":0b1) = id # and another
    setdefault t act()
    packet 3 00 01fF  # and another
    expect 2 0001 **$
    expect 4
    no_packet
    check_counter c(3) packets == 2
    mc_node_create 1 2 3
    """
    assert parse(text) == (
        Add(
            3, "ingress.t", 10, (("h$1.a", "0x2*"), ("h.b c", "0x0a00/16")), "act", (("x", "1"), ("y", "0b1"))
        ),
        SetDefault(4, "t", "act", ()),
        Packet(5, 3, bytes.fromhex("0001ff")),
        Expect(6, 2, "0001**", exact=True),
        Expect(7, 4, None),
        CheckCounter(9, "c", 3, "packets", "==", 2),
        Command(10, "mc_node_create", ("1", "2", "3")),
    )


@pytest.mark.parametrize(
    "line",
    ["sned 0 00", "packet 0 0", "packet", "expect 0 xy", "add t a:1", "add t a:1 act(x)", "remove one"],
)
def test_what_is_not_stf_is_named(line: str) -> None:
    with pytest.raises(StfError, match=r"line 2: '.*' is not STF"):
        parse("wait\n" + line)


def entry(line: str) -> tuple[str, list[tuple[int, int, int]], str, tuple[int, ...]]:
    statement = parse(line)[0]
    assert isinstance(statement, Add | SetDefault)
    result = Names(PROGRAM.read_bytes()).entry(statement)
    return (
        result.table.name,
        [(m.value, m.extra, m.prefix) for m in result.matches],
        result.action,
        result.arguments,
    )


def test_keys_not_written_match_anything() -> None:
    everything = (0, 0xFFFF, 0), (0, 0, 0)
    assert entry("add range 1 answer(value:9)") == (
        "TestIngress.range",
        list(everything),
        "TestIngress.answer",
        (9,),
    )


@pytest.mark.parametrize(
    ("key", "match"),
    [
        ("number:0x1*", (0x10, 0xFFF0, 0)),  # digits in front of those written are zero, and matter
        ("number:0b1*1", (0b101, 0xFFFD, 0)),
        ("number:7", (7, 0xFFFF, 0)),
    ],
)
def test_ternary_digits(key: str, match: tuple[int, int, int]) -> None:
    assert entry(f"add ternary 1 {key} answer(value:1)")[1][0] == match


@pytest.mark.parametrize(
    ("key", "match"),
    [("0x0a0b****", (0x0A0B0000, 0, 16)), ("5", (5, 0, 32)), ("0x0a000000/7", (0x0A000000, 0, 7))],
)
def test_prefix_digits(key: str, match: tuple[int, int, int]) -> None:
    assert entry(f"add lpm lpm_key:{key} small:0 answer(value:1)")[1][0] == match


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "add exact small:1 answer(value:1)",
            "table exact is none of TestIngress.constant, TestIngress.exact_small",
        ),
        ("add lpm lpm_key:0x0*0a0000 small:1 answer(value:1)", "0x0.0a0000 is no prefix"),
        ("add exact_small small:256 answer_counted(value:1)", "256 is wider than key small of 8 bits"),
        ("add exact_small small:0x1* answer_counted(value:1)", "key small is exact: it takes no"),
        ("add exact_small large:1 answer_counted(value:1)", "key large is none of small"),
        ("add exact_small small:1 answer_counted()", "answer_counted needs value"),
        ("add exact_small small:1 answer(value:1)", "answer is none of TestIngress.answer_counted"),
        ("add ternary number:1 answer(value:1)", "table TestIngress.ternary needs a priority"),
    ],
)
def test_what_the_program_lacks_is_named(line: str, said: str) -> None:
    with pytest.raises(StfError, match=f"line 1: .*{said}"):
        entry(line)


def test_a_name_that_fits_twice_is_refused() -> None:
    program = json.loads(PROGRAM.read_bytes())
    tables = program["pipelines"][0]["tables"]
    tables[0]["name"], tables[1]["name"] = "a.t", "b.t"
    with pytest.raises(StfError, match=r"table t may be a\.t or b\.t"):
        Names(json.dumps(program).encode()).entry(SetDefault(1, "t", "drop", ()))


def test_verdict() -> None:
    statements = parse("expect 1 00*1\nexpect 1 0001$\nexpect 2 01\npacket 3 00\nexpect 4")
    right = {1: [b"\0\xf1\xff", b"\0\1"], 2: [b"\1"], 4: [b"x"], 5: [b"seen by nobody"]}
    assert verdict(statements, right) == []
    wrong = {1: [b"\0\xf1", b"\0\1\2"], 2: [b""], 3: [b"\7"], 4: []}
    assert verdict(statements, wrong) == [
        "port 1, packet 2: 000102 for 0001$ of line 2",
        "port 2, packet 1:  for 01 of line 3",
        "port 3: nobody expects 07",
        "port 4: nothing for line 5, any packet",
    ]


def test_own_on_the_engine() -> None:
    assert differences(OWN, "engine") == []


@pytest.mark.bmv2(cli=True)
def test_own_on_bmv2() -> None:
    assert differences(OWN, "BMv2") == []


@pytest.mark.bmv2(cli=True)
def test_bmv2_names_what_it_refuses(tmp_path: Path) -> None:
    stf = tmp_path / "twice.stf"
    stf.write_text("add exact_small small:1 drop()\n" * 2)
    (said,) = differences(Case(stf, PROGRAM), "BMv2")
    assert said.startswith("line 2: table_add TestIngress.exact_small")


@pytest.mark.skipif(not CORPUS, reason=NO_CORPUS)
@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_p4c_on_the_engine(case: Case) -> None:
    if case.name in NOT_OURS:
        pytest.skip("p4c compiles it only together with a module of C++")
    assert differences(case, "engine") == []


@pytest.mark.bmv2(cli=True)
@pytest.mark.skipif(not CORPUS, reason=NO_CORPUS)
def test_p4c_on_bmv2() -> None:
    failed = {case.name: why for case, why in run_all(CORPUS, "BMv2", jobs=4) if why}
    assert failed.keys() == NOT_OURS, failed
