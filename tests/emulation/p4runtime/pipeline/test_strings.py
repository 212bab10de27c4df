# SPDX-License-Identifier: Apache-2.0
"""@p4runtime_translation to string: controllers use strings where tests/programs/translated.p4 has 9 bits."""

import json

import pytest
from finsy.proto import p4i, p4r, rpc_code
from google.protobuf import text_format

from emulation.p4runtime.pipeline.strings import Strings
from emulation.p4runtime.status import Refusal
from tests.emulation.controller_stub import Controller
from tests.emulation.engine.wires import PROGRAMS
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import refusals, refused

PROGRAM = (PROGRAMS / "translated.json").read_bytes()
CPU_PORT = 510


def with_strings() -> p4i.P4Info:
    """The p4info of the program as p4c writes it for `@p4runtime_translation("", string)`."""
    info = text_format.Parse((PROGRAMS / "translated.p4info.txtpb").read_text(), p4i.P4Info())
    info.type_info.new_types["port_t"].translated_type.sdn_string.SetInParent()
    typed = [field for table in info.tables for field in table.match_fields]
    typed += [parameter for action in info.actions for parameter in action.params]
    typed += [field for header in info.controller_packet_metadata for field in header.metadata]
    for item in typed:
        if item.type_name.name == "port_t":
            item.ClearField("bitwidth")
    return info


INFO = with_strings()
TABLE, ACTION = (
    next(item.preamble.id for item in items if item.preamble.alias == alias)
    for items, alias in ((INFO.tables, "redirect"), (INFO.actions, "send"))
)


def entry(port: bytes, to: bytes = b"7") -> p4r.Entity:
    result = p4r.TableEntry(table_id=TABLE)
    result.match.add(field_id=1).exact.value = port
    result.action.action.action_id = ACTION
    result.action.action.params.add(param_id=1, value=to)
    return p4r.Entity(table_entry=result)


@pytest.fixture
def named(client: Controller) -> Controller:
    """The primary of device 1, with the program running."""
    client.push((PROGRAM, INFO))
    return client


# -- one translation


def test_a_decimal_number_stands_for_itself_and_other_strings_for_the_largest_ones_left() -> None:
    strings = Strings(9)
    texts = (b"3", b"eth0", b"511", b"eth1", b"03", b"512", b"", b"eth0")
    with pytest.raises(Refusal, match=r"key: number 511 stands for 'eth0' already"):
        [strings.number(text, "key") for text in texts]
    numbers = [int.from_bytes(strings.number(text, "key")) for text in texts if text != b"511"]
    assert numbers == [3, 511, 510, 509, 508, 507, 511]
    assert [strings.text(number.to_bytes(2)) for number in (3, 4, 511, 507)] == [b"3", b"4", b"eth0", b""]


def test_a_translation_has_as_many_strings_as_numbers() -> None:
    strings = Strings(2)
    assert [strings.number(text, "key") for text in (b"2", b"a", b"b", b"c")] == [b"\2", b"\3", b"\1", b"\0"]
    with pytest.raises(Refusal, match="key: no number of 2 bits is left for 'd'") as refusal:
        strings.number(b"d", "key")
    assert refusal.value.code == rpc_code.RESOURCE_EXHAUSTED
    assert strings.number(b"a", "key") == b"\3"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"\xff", "key: 0xff is not a string in UTF-8"),
        (b"1" * 1_025, "key: the string has 1025 bytes, more than 1024"),
    ],
    ids=["not UTF-8", "too long"],
)
def test_bytes_that_are_no_string_are_refused(text: bytes, why: str) -> None:
    with pytest.raises(Refusal, match=why) as refusal:
        Strings(9).number(text, "key")
    assert refusal.value.code == rpc_code.INVALID_ARGUMENT


# -- a pipeline


def test_entries_have_strings_in_keys_and_parameters(named: Controller, bench: Bench) -> None:
    written = [entry(b"1", b"2"), entry(b"north", b"south")]
    named.write(*(("INSERT", item) for item in written))
    assert named.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=TABLE))) == written
    assert named.read(entry(b"north")) == [written[1]]
    assert bench.ask(b"frame", port=1) == [(2, b"frame")]
    assert bench.ask(b"frame", port=511) == [(510, b"frame")]  # north, south
    named.write(("MODIFY", entry(b"north", b"4")), ("DELETE", entry(b"1")))
    assert bench.ask(b"frame", port=511) == [(4, b"frame")]
    assert refusals(lambda: named.write(("DELETE", entry(b"1")), ("INSERT", entry(b"\xff")))) == [
        "NOT_FOUND",
        "INVALID_ARGUMENT",
    ]


def test_packets_and_digests_have_strings(named: Controller, bench: Bench) -> None:
    learn = p4r.DigestEntry(digest_id=INFO.digests[0].preamble.id)
    learn.config.max_list_size = 1
    named.write(("INSERT", p4r.Entity(digest_entry=learn)))
    # The third name stands for 509, the largest number of a port that a link can have.
    names = [entry(name) for name in (b"north", b"south", b"west")]
    named.write(*(("INSERT", item) for item in names), *(("DELETE", item) for item in names))
    for port, text in ((3, b"3"), (509, b"west")):
        bench.send(bytes(40), port=port)
        received = [named.receive(), named.receive()]
        (packet,) = [message.packet for message in received if message.HasField("packet")]
        (digest,) = [message.digest for message in received if message.HasField("digest")]
        assert [value.value for value in packet.metadata] == [text, b"\x00"]
        assert digest.data[0].struct.members[0].bitstring == text
    metadata = [
        p4r.PacketMetadata(metadata_id=1, value=b"\xff"),
        p4r.PacketMetadata(metadata_id=2, value=b"\0"),
    ]
    named.send(packet=p4r.PacketOut(payload=b"payload", metadata=metadata))
    error = named.receive().error
    assert (error.canonical_code, error.message) == (
        rpc_code.INVALID_ARGUMENT,
        "packet_out, metadata 'port': 0xff is not a string in UTF-8",
    )


def test_each_switch_translates_the_strings_of_its_own_controllers(named: Controller, bench: Bench) -> None:
    with Controller(bench.address, device_id=2) as other:
        other.enter()
        other.push((PROGRAM, INFO))
        named.write(("INSERT", entry(b"a", b"1")), ("INSERT", entry(b"b", b"2")))
        other.write(("INSERT", entry(b"b", b"3")))
        assert bench.ask(b"frame", port=511) == [(1, b"frame")]
        assert bench.network.process(1, 511, b"frame") == [(3, b"frame")]


def test_reconciliation_keeps_strings(named: Controller, bench: Bench) -> None:
    written = [entry(b"a", b"1"), entry(b"b", b"x")]
    named.write(*(("INSERT", item) for item in written))
    named.push((PROGRAM, INFO), "RECONCILE_AND_COMMIT")
    assert named.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=TABLE))) == written
    assert bench.ask(b"frame", port=511) == [(1, b"frame")]


def test_a_register_holds_strings(named: Controller, bench: Bench) -> None:
    register = p4r.RegisterEntry(register_id=INFO.registers[0].preamble.id, index=p4r.Index(index=0))
    assert named.read(p4r.Entity(register_entry=register))[0].register_entry.data.bitstring == b"0"
    register.data.bitstring = b"east"
    named.write(("MODIFY", p4r.Entity(register_entry=register)))
    assert named.read(p4r.Entity(register_entry=register)) == [p4r.Entity(register_entry=register)]
    bench.send(bytes(40), port=4)
    assert named.read(p4r.Entity(register_entry=register))[0].register_entry.data.bitstring == b"4"
    register.data.bool = True
    assert refusals(lambda: named.write(("MODIFY", p4r.Entity(register_entry=register)))) == [
        "INVALID_ARGUMENT"
    ]


def test_strings_match_exactly(client: Controller) -> None:
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    info.tables[0].match_fields[0].match_type = p4i.MatchField.LPM
    document = json.loads(PROGRAM)
    table = next(item for item in document["pipelines"][0]["tables"] if item["name"].endswith("redirect"))
    table["match_type"] = table["key"][0]["match_type"] = "lpm"
    code, message = refused(lambda: client.push((json.dumps(document).encode(), info)))
    assert code == "INVALID_ARGUMENT"
    assert "match field 'port': strings match exactly or not at all, but the match type is lpm" in message
