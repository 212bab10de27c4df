# SPDX-License-Identifier: Apache-2.0
"""@p4runtime_translation: controllers see 32 bits where the program tests/programs/translated.p4 has 9."""

import pytest
from finsy.proto import p4i, p4r, rpc_code
from google.protobuf import text_format

from tests.emulation.controller_stub import Controller
from tests.emulation.engine.wires import PROGRAMS
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import refused

INFO = text_format.Parse((PROGRAMS / "translated.p4info.txtpb").read_text(), p4i.P4Info())
PROGRAM = (PROGRAMS / "translated.json").read_bytes()
LARGEST = b"\x01\xff"
"""9 bits."""


@pytest.fixture
def translated(client: Controller) -> Controller:
    """The primary of device 1, with the program running."""
    client.push((PROGRAM, INFO))
    return client


def packet_out(port: bytes, payload: bytes = b"payload") -> p4r.PacketOut:
    metadata = [p4r.PacketMetadata(metadata_id=1, value=port), p4r.PacketMetadata(metadata_id=2, value=b"\0")]
    return p4r.PacketOut(payload=payload, metadata=metadata)


def test_packet_in_and_digest(translated: Controller, bench: Bench) -> None:
    learn = p4r.DigestEntry(digest_id=INFO.digests[0].preamble.id)
    learn.config.max_list_size = 1
    translated.write(("INSERT", p4r.Entity(digest_entry=learn)))
    bench.send(bytes(40), port=3)
    received = [translated.receive(), translated.receive()]
    (packet,) = [message.packet for message in received if message.HasField("packet")]
    (digest,) = [message.digest for message in received if message.HasField("digest")]
    assert packet.payload == bytes(40)
    assert [value.value for value in packet.metadata] == [b"\x03", b"\x00"]
    assert [member.bitstring for member in digest.data[0].struct.members] == [b"\x03", b"\x28"]


def test_packet_out(translated: Controller, bench: Bench) -> None:
    assert bench.ask(b"\x01\x80payload", port=510) == [(3, b"payload")]
    translated.send(packet=packet_out(b"\x00\x00\x01\x03"))
    assert bench.packet_outs.acquire(timeout=120)
    translated.send(packet=packet_out(b"\x02\x00"))
    error = translated.receive().error
    assert (error.canonical_code, error.message.split(":")[0]) == (
        rpc_code.OUT_OF_RANGE,
        "packet_out, metadata 'port'",
    )


def test_a_key_of_type_error_has_the_width_of_the_program(translated: Controller, bench: Bench) -> None:
    table, action = (
        next(item.preamble.id for item in items if item.preamble.alias == alias)
        for items, alias in ((INFO.tables, "failed"), (INFO.actions, "send"))
    )
    entry = p4r.TableEntry(table_id=table)
    entry.match.add(field_id=1).exact.value = b"\x01"  # PacketTooShort
    entry.action.action.action_id = action
    entry.action.action.params.add(param_id=1, value=b"\x05")
    translated.write(("INSERT", p4r.Entity(table_entry=entry)))
    assert bench.ask(b"\x01", port=510) == [(5, b"\x01")]
    (read,) = translated.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=table)))
    assert read.table_entry == entry


def test_a_register_has_the_range_of_the_program(translated: Controller, bench: Bench) -> None:
    register = p4r.RegisterEntry(register_id=INFO.registers[0].preamble.id, index=p4r.Index(index=0))
    register.data.bitstring = LARGEST
    translated.write(("MODIFY", p4r.Entity(register_entry=register)))
    (read,) = translated.read(p4r.Entity(register_entry=register))
    assert read.register_entry.data.bitstring == LARGEST
    register.data.bitstring = b"\x02\x00"
    code, _ = refused(lambda: translated.write(("MODIFY", p4r.Entity(register_entry=register))))
    assert code == "UNKNOWN"


def test_another_width_of_an_untranslated_field_is_named(client: Controller) -> None:
    other = p4i.P4Info()
    other.CopyFrom(INFO)
    other.controller_packet_metadata[0].metadata[1].bitwidth = 8
    code, message = refused(lambda: client.push((PROGRAM, other)))
    assert code == "INVALID_ARGUMENT"
    assert "controller header 'packet_in'" in message
    assert "field 'pad': width in bits is 8" in message
