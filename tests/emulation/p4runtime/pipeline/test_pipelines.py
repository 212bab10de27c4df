# SPDX-License-Identifier: Apache-2.0
"""Pipeline configurations: verified, saved, committed, read back, and refused when they do not fit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import (
    CONFIG,
    INFO,
    action,
    all_of,
    entry,
    exact,
    frame,
    lpm,
    refusals,
    refused,
)


def test_before_any_pipeline(client: Controller) -> None:
    assert not client.pipeline().HasField("config")
    assert refused(lambda: client.write(("INSERT", entry("exact_table"))))[0] == "FAILED_PRECONDITION"
    assert refused(lambda: client.read(all_of()))[0] == "FAILED_PRECONDITION"


def test_response_types(client: Controller) -> None:
    client.push(CONFIG, cookie=77)
    for kind, has_info, has_program in [
        ("ALL", True, True),
        ("COOKIE_ONLY", False, False),
        ("P4INFO_AND_COOKIE", True, False),
        ("DEVICE_CONFIG_AND_COOKIE", False, True),
    ]:
        config = client.pipeline(kind).config
        assert config.cookie.cookie == 77
        assert config.p4info == (INFO if has_info else p4i.P4Info())
        assert config.p4_device_config == (CONFIG[0] if has_program else b"")


def test_unknown_response_type(ready: Controller) -> None:
    request = p4r.GetForwardingPipelineConfigRequest(device_id=1, response_type=9)  # pyright: ignore
    assert refused(lambda: ready.stub.GetForwardingPipelineConfig(request))[0] == "INVALID_ARGUMENT"


def test_no_cookie_stays_unset(ready: Controller) -> None:
    assert not ready.pipeline().config.HasField("cookie")


def test_commit_clears_and_verify_does_not(ready: Controller) -> None:
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    ready.push(CONFIG, "VERIFY")
    assert len(ready.read(all_of("exact_table"))) == 1
    ready.push(CONFIG)
    assert ready.read(all_of("exact_table")) == []


def test_saved_configuration_forwards_from_its_commit_on(ready: Controller, bench: Bench) -> None:
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x03"))))
    ready.push(CONFIG, "VERIFY_AND_SAVE", cookie=5)
    assert ready.pipeline("COOKIE_ONLY").config.cookie.cookie == 5
    assert ready.read(all_of("exact_table")) == []
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x04"))))
    assert bench.network.process(0, 0, frame(a=1)) == [(3, frame(a=1))]
    ready.push(None, "COMMIT")
    assert bench.network.process(0, 0, frame(a=1)) == [(4, frame(a=1))]
    assert len(ready.read(all_of("exact_table"))) == 1
    assert refused(lambda: ready.push(None, "COMMIT"))[0] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("action", "config", "code"),
    [
        ("UNSPECIFIED", CONFIG, "INVALID_ARGUMENT"),
        ("VERIFY", None, "INVALID_ARGUMENT"),
        ("VERIFY_AND_SAVE", None, "INVALID_ARGUMENT"),
        ("VERIFY_AND_COMMIT", None, "INVALID_ARGUMENT"),
        ("COMMIT", CONFIG, "INVALID_ARGUMENT"),
        ("COMMIT", None, "NOT_FOUND"),
        ("RECONCILE_AND_COMMIT", None, "INVALID_ARGUMENT"),
    ],
)
def test_refused_actions(client: Controller, action: str, config: object, code: str) -> None:
    assert refused(lambda: client.push(config, action))[0] == code  # pyright: ignore[reportArgumentType]
    assert not client.pipeline().HasField("config")


def test_unknown_device(bench: Bench) -> None:
    with Controller(bench.address, device_id=99) as controller:
        for call in (
            lambda: controller.push(CONFIG),
            controller.pipeline,
            controller.write,
            controller.read,
        ):
            assert refused(call)[0] == "NOT_FOUND"


@pytest.mark.parametrize("length", [0, 1, 100, 2000, len(CONFIG[0]) - 1])
def test_truncated_program(ready: Controller, length: int) -> None:
    code, message = refused(lambda: ready.push((CONFIG[0][:length], INFO)))
    assert code == "INVALID_ARGUMENT"
    assert "p4_device_config" in message
    assert ready.pipeline().config.p4_device_config == CONFIG[0]


@pytest.mark.parametrize(
    ("named", "change"),
    [
        ("table 'Ingress.nowhere'", lambda p: setattr(p.tables[0].preamble, "name", "Ingress.nowhere")),
        (
            "table 'Ingress.lpm_table'",
            lambda p: setattr(p.tables[1].preamble, "id", p.tables[0].preamble.id),
        ),
        ("number of match fields is 0", lambda p: p.tables[0].ClearField("match_fields")),
        ("name is 'z' in the p4info, but 'a'", lambda p: setattr(p.tables[0].match_fields[0], "name", "z")),
        (
            "width in bits is 15 in the p4info",
            lambda p: setattr(p.tables[0].match_fields[0], "bitwidth", 15),
        ),
        ("match type is 'lpm'", lambda p: setattr(p.tables[0].match_fields[0], "match_type", 3)),
        ("two match fields with id 1", lambda p: setattr(p.tables[2].match_fields[1], "id", 1)),
        ("action id 99", lambda p: setattr(p.tables[0].action_refs[0], "id", 99)),
        ("action 'Ingress.fly'", lambda p: setattr(p.actions[1].preamble, "name", "Ingress.fly")),
        ("number of parameters is 0", lambda p: p.actions[1].ClearField("params")),
        ("width in bits is 8", lambda p: setattr(p.actions[1].params[0], "bitwidth", 8)),
        ("name is 'door'", lambda p: setattr(p.actions[1].params[0], "name", "door")),
        ("counter 'Ingress.ports': size is 9", lambda p: setattr(p.counters[0], "size", 9)),
        ("counter 'other'", lambda p: setattr(p.counters[0].preamble, "name", "other")),
        ("register 'Ingress.memory': size", lambda p: setattr(p.registers[0], "size", 5)),
        (
            "register 'Ingress.memory': width",
            lambda p: setattr(p.registers[0].type_spec.bitstring.bit, "bitwidth", 8),
        ),
        (
            "'packet_in', field 'pad'",
            lambda p: setattr(p.controller_packet_metadata[0].metadata[1], "bitwidth", 8),
        ),
        ("names no table", lambda p: p.Clear()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_p4info_that_does_not_match(
    ready: Controller, bench: Bench, named: str, change: Callable[[p4i.P4Info], None]
) -> None:
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    change(info)
    code, message = refused(lambda: ready.push((CONFIG[0], info)))
    assert code == "INVALID_ARGUMENT"
    assert named in message
    assert ready.pipeline().config.p4info == INFO
    assert bench.network.process(0, 0, frame(a=1)) == [(5, frame(a=1))]


def test_a_part_of_the_p4info_will_do(client: Controller) -> None:
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    del info.tables[1:]
    client.push((CONFIG[0], info))
    client.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    assert refusals(lambda: client.write(("INSERT", entry("lpm_table", lpm(b"\x01", 32))))) == [
        "INVALID_ARGUMENT"
    ]


@pytest.mark.parametrize(
    "config",
    [
        b'{"program": "\xff\xfe"}',
        b"\xff\xfe\x00{",
        b"\x1a\x02\xff\xfe",
        b"\x1a\x7f{",
        b"\xff" * 4096,
        b"\x1b\x80\x80",
    ],
    ids=["text", "no text", "in a message", "cut message", "endless number", "groups"],
)
def test_what_is_no_utf_8_is_an_invalid_argument(client: Controller, config: bytes) -> None:
    code, message = refused(lambda: client.push((config, INFO)))
    assert code == "INVALID_ARGUMENT"
    assert "p4_device_config: program: it is not the JSON of a BMv2 program" in message


def test_digests_without_a_type_name_may_have_been_removed(client: Controller) -> None:
    """p4c numbers such digests in the p4info, and calls each of them "digest" in the program."""
    build = Path(__file__).resolve().parents[3] / "v1model" / "build" / "digests"
    program = build.with_suffix(".json").read_bytes().replace(b'"learnt_t"', b'"digest"')
    info = text_format.Parse(build.with_suffix(".p4info.txtpb").read_text(), p4i.P4Info())
    info.digests.add().CopyFrom(info.digests[0])
    for number, digest in enumerate(info.digests):
        digest.preamble.id += number
        digest.preamble.name = digest.preamble.alias = f"digest_{number}"
    client.push((program, info))
    first, second = (p4r.DigestEntry(digest_id=digest.preamble.id) for digest in info.digests)
    client.write(("INSERT", p4r.Entity(digest_entry=first)))
    assert refusals(lambda: client.write(("INSERT", p4r.Entity(digest_entry=second)))) == ["INVALID_ARGUMENT"]


def test_what_the_compiler_removed_may_be_in_the_p4info(client: Controller, bench: Bench) -> None:
    """A selector, and a controller header; and a table for a `switch`, which is in no p4info."""
    build = Path(__file__).resolve().parents[3] / "programs" / "build" / "unreached"
    info = text_format.Parse(build.with_suffix(".p4info.txtpb").read_text(), p4i.P4Info())
    assert not info.tables
    client.push((build.with_suffix(".json").read_bytes(), info))
    member = p4r.ActionProfileMember(action_profile_id=info.action_profiles[0].preamble.id, member_id=1)
    update = ("INSERT", p4r.Entity(action_profile_member=member))
    assert refusals(lambda: client.write(update)) == ["INVALID_ARGUMENT"]
    outputs = {what: bench.ask(bytes([what, 5])) for what in (6, 7, 8)}
    assert outputs == {6: [], 7: [(2, b"\x07\x05")], 8: [(5, b"\x08\x05")]}
    assert info.controller_packet_metadata
    bench.send(b"\x09\x05")
    packet = client.receive().packet
    assert (packet.payload, list(packet.metadata)) == (b"\x09\x05", [])
