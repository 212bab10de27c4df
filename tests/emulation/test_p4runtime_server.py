"""The P4Runtime server: what the specification asks of every method, through a real gRPC channel."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from finsy.proto import U128, p4i, p4r, rpc_code

from emulation._engine import Network
from emulation.errors import EmulationError
from emulation.p4runtime_server import P4RuntimeServer
from tests.emulation import sampler
from tests.emulation.controller_stub import Controller, code_of, details_of

BMV2, INFO = sampler.program()
CONFIG = (sampler.packed(BMV2, INFO)[0], INFO)
TABLE = {table.preamble.alias: table.preamble.id for table in INFO.tables}
ACTION = {action.preamble.alias: action.preamble.id for action in INFO.actions}
COUNTER, REGISTER = INFO.counters[0].preamble.id, INFO.registers[0].preamble.id


def action(name: str = "forward", *params: bytes, first: int = 1) -> p4r.TableAction:
    sent = [p4r.Action.Param(param_id=first + index, value=value) for index, value in enumerate(params)]
    return p4r.TableAction(action=p4r.Action(action_id=ACTION[name], params=sent))


FORWARD = action("forward", b"\x05")


def exact(field: int, value: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=field, exact=p4r.FieldMatch.Exact(value=value))


def lpm(value: bytes, prefix: int) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=1, lpm=p4r.FieldMatch.LPM(value=value, prefix_len=prefix))


def ternary(value: bytes, mask: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=1, ternary=p4r.FieldMatch.Ternary(value=value, mask=mask))


def within(low: bytes, high: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=2, range=p4r.FieldMatch.Range(low=low, high=high))


def optional(value: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=3, optional=p4r.FieldMatch.Optional(value=value))


def entry(
    table: str, *match: p4r.FieldMatch, do: p4r.TableAction | None = FORWARD, **fields: object
) -> p4r.Entity:
    message = p4r.TableEntry(table_id=TABLE[table], match=match, **fields)  # pyright: ignore
    if do is not None:
        message.action.CopyFrom(do)
    return p4r.Entity(table_entry=message)


def mixed(priority: int = 1, *match: p4r.FieldMatch, do: p4r.TableAction | None = FORWARD) -> p4r.Entity:
    return entry("mixed_table", *match, do=do, priority=priority)


def all_of(table: str = "", **fields: object) -> p4r.Entity:
    """A wildcard read."""
    return p4r.Entity(table_entry=p4r.TableEntry(table_id=TABLE[table] if table else 0, **fields))  # pyright: ignore


def frame(a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0) -> bytes:
    return (a << 64 | b << 48 | c << 39 | d << 32 | e).to_bytes(10)


class Sink:
    """A host that keeps the frames it gets."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def on_frame(self, received: bytes, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        self.frames.append(received)
        return [], None


@dataclass
class Bench:
    network: Network
    server: P4RuntimeServer
    address: str
    lock: threading.RLock
    packet_outs: threading.Semaphore


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Three switches, device ids 1 to 3."""
    network, lock, packet_outs = Network(), threading.RLock(), threading.Semaphore(0)
    switches = {device: network.add_switch(f"switch{device}") for device in (1, 2, 3)}
    server = P4RuntimeServer(network, switches, lock=lock, on_packet_out=packet_outs.release)
    address = server.start()
    yield Bench(network, server, address, lock, packet_outs)
    server.stop()


@pytest.fixture
def client(bench: Bench) -> Iterator[Controller]:
    """The primary of device 1, without a pipeline yet."""
    with Controller(bench.address) as controller:
        controller.enter()
        yield controller


@pytest.fixture
def ready(client: Controller) -> Controller:
    """The primary of device 1, with the sampler running."""
    client.push(CONFIG)
    return client


def refused(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return code_of(caught.value), caught.value.details()  # pyright: ignore[reportAttributeAccessIssue]


def refusals(call: Callable[[], object]) -> list[str]:
    """The code of every update of a Write (or request of a Read) that failed in part."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert code_of(caught.value) == "UNKNOWN"
    return [rpc_code.Code.Name(error.canonical_code) for error in details_of(caught.value)]  # pyright: ignore


class TestArbitration:
    def test_first_becomes_primary_second_is_told_of_it(self, bench: Bench) -> None:
        with (
            Controller(bench.address, election_id=7) as first,
            Controller(bench.address, election_id=3) as second,
        ):
            answer = first.enter()
            assert (answer.status.code, U128.decode(answer.election_id)) == (rpc_code.OK, 7)
            answer = second.enter()
            assert (answer.status.code, U128.decode(answer.election_id)) == (rpc_code.ALREADY_EXISTS, 7)

    def test_higher_id_takes_over_and_the_former_primary_may_not_write(self, bench: Bench) -> None:
        with Controller(bench.address, election_id=1 << 64) as old, Controller(bench.address) as new:
            old.enter()
            old.push(CONFIG)
            assert new.enter((1 << 64) + 1).status.code == rpc_code.OK
            told = old.receive().arbitration
            assert (told.status.code, U128.decode(told.election_id)) == (
                rpc_code.ALREADY_EXISTS,
                (1 << 64) + 1,
            )
            change = ("INSERT", entry("exact_table", exact(1, b"\x01")))
            assert refused(lambda: old.write(change))[0] == "PERMISSION_DENIED"
            assert refused(lambda: old.push(CONFIG))[0] == "PERMISSION_DENIED"
            new.write(change)
            assert len(new.read(all_of("exact_table"))) == 1

    def test_leaving_primary_leaves_none_until_an_id_as_high_comes(self, bench: Bench) -> None:
        with Controller(bench.address, election_id=2) as backup:
            with Controller(bench.address, election_id=5) as primary:
                primary.enter()
                primary.push(CONFIG)
                assert backup.enter().status.code == rpc_code.ALREADY_EXISTS
            told = backup.receive().arbitration
            assert (told.status.code, U128.decode(told.election_id)) == (rpc_code.NOT_FOUND, 5)
            assert backup.enter(4).status.code == rpc_code.NOT_FOUND
            assert refused(backup.write)[0] == "PERMISSION_DENIED"
            assert backup.enter(5).status.code == rpc_code.OK

    def test_primary_that_lowers_its_id_is_no_longer_primary(self, bench: Bench) -> None:
        with (
            Controller(bench.address, election_id=9) as primary,
            Controller(bench.address, election_id=2) as backup,
        ):
            primary.enter()
            backup.enter()
            assert primary.enter(8).status.code == rpc_code.NOT_FOUND
            assert backup.receive().arbitration.status.code == rpc_code.NOT_FOUND

    def test_repeating_the_own_id_answers_only_the_sender(self, bench: Bench) -> None:
        with (
            Controller(bench.address, election_id=9) as primary,
            Controller(bench.address, election_id=2) as backup,
        ):
            primary.enter()
            backup.enter()
            assert primary.enter().status.code == rpc_code.OK
            # The answer to its own message comes next, nothing about the primary's.
            assert U128.decode(backup.enter(3).election_id) == 9

    def test_without_election_id_never_primary(self, bench: Bench) -> None:
        with Controller(bench.address, election_id=None) as standby:
            answer = standby.enter()
            assert answer.status.code == rpc_code.NOT_FOUND
            assert not answer.HasField("election_id")
            assert refused(standby.write)[0] == "PERMISSION_DENIED"

    def test_election_id_zero_is_an_id(self, bench: Bench) -> None:
        with Controller(bench.address, election_id=0) as primary:
            assert primary.enter().status.code == rpc_code.OK

    def test_devices_and_roles_elect_apart(self, bench: Bench) -> None:
        with (
            Controller(bench.address, 1) as one,
            Controller(bench.address, 2) as two,
            Controller(bench.address, 1, role="telemetry") as other_role,
        ):
            for controller in (one, two, other_role):
                answer = controller.enter()
                assert answer.status.code == rpc_code.OK
                assert answer.device_id == controller.device_id
                assert answer.role.name == controller.role

    def test_unknown_role_in_a_write(self, client: Controller) -> None:
        client.role = "nobody"
        assert refused(client.write)[0] == "NOT_FOUND"

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"device_id": 99}, "NOT_FOUND"),
            ({"election_id": 1}, "INVALID_ARGUMENT"),
            ({"role": p4r.Role(config={"type_url": "x"})}, "INVALID_ARGUMENT"),  # pyright: ignore
        ],
        ids=["unknown device", "election id in use", "role config"],
    )
    def test_bad_arbitration_ends_the_stream(
        self, client: Controller, bench: Bench, change: dict, code: str
    ) -> None:
        fields = {"device_id": 1, "election_id": 5} | change
        fields["election_id"] = U128.encode(fields["election_id"])
        with Controller(bench.address) as other:
            other.send(arbitration=p4r.MasterArbitrationUpdate(**fields))
            assert refused(other.receive)[0] == code
        assert client.enter().status.code == rpc_code.OK

    def test_a_stream_keeps_its_device(self, client: Controller) -> None:
        client.device_id = 2
        assert refused(client.enter)[0] == "FAILED_PRECONDITION"


class TestPipeline:
    def test_before_any_pipeline(self, client: Controller) -> None:
        assert not client.pipeline().HasField("config")
        assert refused(lambda: client.write(("INSERT", entry("exact_table"))))[0] == "FAILED_PRECONDITION"
        assert refused(lambda: client.read(all_of()))[0] == "FAILED_PRECONDITION"

    def test_response_types(self, client: Controller) -> None:
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

    def test_no_cookie_stays_unset(self, ready: Controller) -> None:
        assert not ready.pipeline().config.HasField("cookie")

    def test_commit_clears_and_verify_does_not(self, ready: Controller) -> None:
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        ready.push(CONFIG, "VERIFY")
        assert len(ready.read(all_of("exact_table"))) == 1
        ready.push(CONFIG)
        assert ready.read(all_of("exact_table")) == []

    def test_saved_configuration_forwards_from_its_commit_on(self, ready: Controller, bench: Bench) -> None:
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
            ("RECONCILE_AND_COMMIT", CONFIG, "UNIMPLEMENTED"),
        ],
    )
    def test_refused_actions(self, client: Controller, action: str, config: object, code: str) -> None:
        assert refused(lambda: client.push(config, action))[0] == code  # pyright: ignore[reportArgumentType]
        assert not client.pipeline().HasField("config")

    def test_unknown_device(self, bench: Bench) -> None:
        with Controller(bench.address, device_id=99) as controller:
            for call in (
                lambda: controller.push(CONFIG),
                controller.pipeline,
                controller.write,
                controller.read,
            ):
                assert refused(call)[0] == "NOT_FOUND"

    @pytest.mark.parametrize("length", [0, 1, 100, 2000, len(CONFIG[0]) - 1])
    def test_truncated_program(self, ready: Controller, length: int) -> None:
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
            ("name is 'z' in the p4info, 'a'", lambda p: setattr(p.tables[0].match_fields[0], "name", "z")),
            (
                "width in bits is 15 in the p4info",
                lambda p: setattr(p.tables[0].match_fields[0], "bitwidth", 15),
            ),
            ("match type is 'lpm'", lambda p: setattr(p.tables[0].match_fields[0], "match_type", 3)),
            ("two match fields with one id", lambda p: setattr(p.tables[2].match_fields[1], "id", 1)),
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
        self, ready: Controller, bench: Bench, named: str, change: Callable[[p4i.P4Info], None]
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

    def test_a_part_of_the_p4info_will_do(self, client: Controller) -> None:
        info = p4i.P4Info()
        info.CopyFrom(INFO)
        del info.tables[1:]
        client.push((CONFIG[0], info))
        client.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        assert refusals(lambda: client.write(("INSERT", entry("lpm_table", lpm(b"\x01", 32))))) == [
            "INVALID_ARGUMENT"
        ]


class TestTableEntries:
    def test_insert_modify_delete_change_forwarding(self, ready: Controller, bench: Bench) -> None:
        sent = frame(a=0x1234)
        assert bench.network.process(0, 0, sent) == []
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x12\x34"))))
        assert bench.network.process(0, 0, sent) == [(5, sent)]
        ready.write(
            ("MODIFY", entry("exact_table", exact(1, b"\x12\x34"), do=action("forward", b"\x01\x00")))
        )
        assert bench.network.process(0, 0, sent) == [(256, sent)]
        ready.write(("DELETE", entry("exact_table", exact(1, b"\x12\x34"), do=None)))
        assert bench.network.process(0, 0, sent) == []

    def test_devices_are_apart(self, ready: Controller, bench: Bench) -> None:
        with Controller(bench.address, device_id=2) as other:
            other.enter()
            other.push(CONFIG)
            other.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
            assert ready.read(all_of("exact_table")) == []
            assert bench.network.process(1, 0, frame(a=1)) == [(5, frame(a=1))]

    @pytest.mark.parametrize(
        "written",
        [
            entry("exact_table", exact(1, b"\x00"), metadata=b"note", controller_metadata=9),
            entry("lpm_table", lpm(b"\x0a\x00\x00\x00", 8)),
            entry("lpm_table"),
            mixed(3, ternary(b"\x12\x00", b"\xff\x00"), within(b"\x02", b"\x01\x00"), optional(b"\x7f")),
            mixed(3, ternary(b"\x00", b"\x01")),
            mixed(3, within(b"\x00", b"\x00")),
            mixed(3, optional(b"\x00")),
            mixed(3),
        ],
        ids=str,
    )
    def test_what_is_read_is_what_was_written(self, ready: Controller, written: p4r.Entity) -> None:
        ready.write(("INSERT", written))
        table_id = written.table_entry.table_id
        assert ready.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=table_id))) == [written]
        assert ready.read(written) == [written]

    @pytest.mark.parametrize(
        ("match", "hits", "misses"),
        [
            ([ternary(b"\x12\x00", b"\xff\x00")], frame(b=0x12FF), frame(b=0x1334)),
            ([within(b"\x02", b"\x01\x00")], frame(c=256), frame(c=257)),
            ([optional(b"\x05")], frame(d=5), frame(d=4)),
            ([optional(b"\x00")], frame(d=0), frame(d=4)),
        ],
        ids=["ternary", "range", "optional", "optional zero"],
    )
    def test_match_kinds_decide_forwarding(
        self, ready: Controller, bench: Bench, match: list[p4r.FieldMatch], hits: bytes, misses: bytes
    ) -> None:
        ready.write(("INSERT", mixed(1, *match)))
        assert bench.network.process(0, 0, hits) == [(5, hits)]
        assert bench.network.process(0, 0, misses) == []

    def test_higher_priority_wins(self, ready: Controller, bench: Bench) -> None:
        ready.write(
            ("INSERT", mixed(10, ternary(b"\x01", b"\xff"), do=action("forward", b"\x01"))),
            ("INSERT", mixed(20, within(b"\x00", b"\x09"), do=action("forward", b"\x02"))),
        )
        assert bench.network.process(0, 0, frame(b=1)) == [(2, frame(b=1))]

    def test_longer_strings_than_needed_are_taken_and_returned_short(self, ready: Controller) -> None:
        ready.write(
            ("INSERT", entry("exact_table", exact(1, b"\0\0\0\x07"), do=action("forward", b"\0\0\0\x05"))),
            ("INSERT", mixed(1, ternary(b"\0\0\x01", b"\0\0\xff"), optional(b"\0\x05"))),
        )
        assert ready.read(all_of("exact_table")) == [entry("exact_table", exact(1, b"\x07"))]
        assert ready.read(all_of("mixed_table")) == [mixed(1, ternary(b"\x01", b"\xff"), optional(b"\x05"))]

    def test_parameters_and_fields_in_any_order(self, ready: Controller) -> None:
        ready.write(("INSERT", mixed(1, optional(b"\x05"), ternary(b"\x01", b"\xff"))))
        assert ready.read(all_of("mixed_table")) == [mixed(1, ternary(b"\x01", b"\xff"), optional(b"\x05"))]

    def test_batch_goes_on_after_an_error_and_tells_each_in_order(self, ready: Controller) -> None:
        codes = refusals(
            lambda: ready.write(
                ("INSERT", entry("exact_table", exact(1, b"\x01"))),
                ("INSERT", entry("exact_table", exact(1, b"\x01"))),
                ("MODIFY", entry("exact_table", exact(1, b"\x02"))),
                ("INSERT", entry("exact_table", exact(1, b"\x02"))),
                ("DELETE", entry("exact_table", exact(1, b"\x03"), do=None)),
                ("DELETE", entry("exact_table", exact(1, b"\x01"), do=None)),
            )
        )
        assert codes == ["OK", "ALREADY_EXISTS", "NOT_FOUND", "OK", "NOT_FOUND", "OK"]
        assert ready.read(all_of("exact_table")) == [entry("exact_table", exact(1, b"\x02"))]

    def test_full_table(self, ready: Controller) -> None:
        for value in range(4):
            ready.write(("INSERT", entry("exact_table", exact(1, bytes([value])))))
        assert refusals(lambda: ready.write(("INSERT", entry("exact_table", exact(1, b"\x09"))))) == [
            "RESOURCE_EXHAUSTED"
        ]

    def test_modify_without_action_changes_nothing(self, ready: Controller) -> None:
        written = entry("exact_table", exact(1, b"\x01"))
        ready.write(("INSERT", written))
        ready.write(("MODIFY", entry("exact_table", exact(1, b"\x01"), do=None)))
        assert ready.read(all_of("exact_table")) == [written]
        missing = entry("exact_table", exact(1, b"\x02"), do=None)
        assert refusals(lambda: ready.write(("MODIFY", missing))) == ["NOT_FOUND"]

    def test_delete_looks_only_at_the_key(self, ready: Controller) -> None:
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        nonsense = p4r.TableAction(action=p4r.Action(action_id=12345))
        ready.write(("DELETE", entry("exact_table", exact(1, b"\x01"), do=nonsense)))
        assert ready.read(all_of("exact_table")) == []

    def test_metadata_goes_with_its_entry(self, ready: Controller) -> None:
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"), metadata=b"old")))
        ready.write(("DELETE", entry("exact_table", exact(1, b"\x01"), do=None)))
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        assert ready.read(all_of("exact_table"))[0].table_entry.metadata == b""

    @pytest.mark.parametrize(
        ("code", "kind", "bad"),
        [
            ("INVALID_ARGUMENT", "UNSPECIFIED", entry("exact_table", exact(1, b"\x01"))),
            ("INVALID_ARGUMENT", "INSERT", p4r.Entity()),
            ("INVALID_ARGUMENT", "INSERT", p4r.Entity(table_entry=p4r.TableEntry())),
            ("INVALID_ARGUMENT", "INSERT", p4r.Entity(table_entry=p4r.TableEntry(table_id=12345))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table")),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(2, b"\x01"))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), exact(1, b"\x01"))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", lpm(b"\x01", 16))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", p4r.FieldMatch(field_id=1))),
            ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b""))),
            ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b"\x01\x00\x00"))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), priority=1)),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), is_const=True)),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=None)),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction())),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction(action_profile_member_id=1)),
            ),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction(action=p4r.Action(action_id=4))),
            ),
            ("PERMISSION_DENIED", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("NoAction"))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward"))),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=action("refuse", b"\x01")),
            ),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x01", first=2)),
            ),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x01", b"\x01", first=0)),
            ),
            (
                "OUT_OF_RANGE",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x02\x00")),
            ),
            ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward", b""))),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), idle_timeout_ns=5)),
            (
                "INVALID_ARGUMENT",
                "INSERT",
                entry("exact_table", exact(1, b"\x01"), counter_data=p4r.CounterData(packet_count=1)),
            ),
            ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x00", 0))),
            ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x00\x00\x00", 33))),
            ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x00\x00\x00", -1))),
            ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x01\x00\x00", 8))),
            ("INVALID_ARGUMENT", "INSERT", mixed(0, optional(b"\x01"))),
            ("INVALID_ARGUMENT", "INSERT", mixed(-4, optional(b"\x01"))),
            ("INVALID_ARGUMENT", "INSERT", mixed(1, ternary(b"\x01", b"\x00"))),
            ("INVALID_ARGUMENT", "INSERT", mixed(1, ternary(b"\x03", b"\x01"))),
            ("OUT_OF_RANGE", "INSERT", mixed(1, ternary(b"\x01", b"\x01\x00\x00"))),
            ("INVALID_ARGUMENT", "INSERT", mixed(1, within(b"\x05", b"\x04"))),
            ("INVALID_ARGUMENT", "INSERT", mixed(1, within(b"\x00", b"\x01\xff"))),
            ("OUT_OF_RANGE", "INSERT", mixed(1, within(b"\x00", b"\x02\x00"))),
            ("OUT_OF_RANGE", "INSERT", mixed(1, optional(b"\x80"))),
            ("PERMISSION_DENIED", "INSERT", entry("const_table", exact(1, b"\x01"))),
            ("PERMISSION_DENIED", "MODIFY", entry("const_table", exact(1, b"\xff\xff"))),
            ("PERMISSION_DENIED", "DELETE", entry("const_table", exact(1, b"\xff\xff"), do=None)),
            ("INVALID_ARGUMENT", "INSERT", entry("keyless_table")),
            ("INVALID_ARGUMENT", "INSERT", entry("exact_table", is_default_action=True)),
            ("INVALID_ARGUMENT", "DELETE", entry("exact_table", is_default_action=True)),
            ("INVALID_ARGUMENT", "MODIFY", entry("exact_table", exact(1, b"\x01"), is_default_action=True)),
            ("INVALID_ARGUMENT", "MODIFY", entry("exact_table", is_default_action=True, priority=1)),
            ("PERMISSION_DENIED", "MODIFY", entry("const_table", is_default_action=True)),
            ("UNIMPLEMENTED", "INSERT", p4r.Entity(meter_entry=p4r.MeterEntry(meter_id=1))),
            (
                "UNIMPLEMENTED",
                "INSERT",
                p4r.Entity(action_profile_member=p4r.ActionProfileMember(member_id=1)),
            ),
        ],
        ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
    )
    def test_bad_update_is_refused_and_changes_nothing(
        self, ready: Controller, code: str, kind: str, bad: p4r.Entity
    ) -> None:
        before = ready.read(all_of(), all_of(is_default_action=True))
        assert refusals(lambda: ready.write((kind, bad))) == [code]
        assert ready.read(all_of(), all_of(is_default_action=True)) == before

    def test_messages_name_the_table_and_the_field(self, ready: Controller) -> None:
        with pytest.raises(grpc.RpcError) as caught:
            ready.write(("INSERT", entry("exact_table", exact(1, b"\x01\x00\x00"))))
        (error,) = details_of(caught.value)
        assert error.message == "table 'exact_table', field 'a', value: 0x010000 does not fit in 16 bits"

    @pytest.mark.parametrize("mode", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
    def test_other_atomicities(self, ready: Controller, mode: str) -> None:
        change = ("INSERT", entry("exact_table", exact(1, b"\x01")))
        atomicity = p4r.WriteRequest.Atomicity.Value(mode)
        assert refused(lambda: ready.write(change, atomicity=atomicity))[0] == "UNIMPLEMENTED"
        assert ready.read(all_of("exact_table")) == []


class TestDefaultEntries:
    def test_set_read_and_reset(self, ready: Controller, bench: Bench) -> None:
        assert bench.network.process(0, 0, frame()) == []
        ready.write(("MODIFY", entry("lpm_table", is_default_action=True, metadata=b"note")))
        assert bench.network.process(0, 0, frame()) == [(5, frame())]
        (read,) = ready.read(all_of("lpm_table", is_default_action=True))
        assert read == entry("lpm_table", is_default_action=True, metadata=b"note")
        assert ready.read(all_of("lpm_table")) == []
        ready.write(("MODIFY", entry("lpm_table", do=None, is_default_action=True)))
        assert bench.network.process(0, 0, frame()) == []
        (read,) = ready.read(all_of("lpm_table", is_default_action=True))
        assert read == entry("lpm_table", do=action("NoAction"), is_default_action=True)

    def test_of_every_table(self, ready: Controller) -> None:
        read = ready.read(all_of(is_default_action=True))
        assert {entity.table_entry.table_id for entity in read} == set(TABLE.values())
        assert all(entity.table_entry.is_default_action for entity in read)

    def test_keyless_table_has_one(self, ready: Controller, bench: Bench) -> None:
        ready.write(("MODIFY", entry("keyless_table", is_default_action=True)))
        assert bench.network.process(0, 0, frame()) == [(5, frame())]


class TestReads:
    def test_filters(self, ready: Controller) -> None:
        first = mixed(1, optional(b"\x01"))
        second = mixed(2, optional(b"\x01"), do=action("refuse"))
        third = entry("exact_table", exact(1, b"\x01"), metadata=b"x")
        ready.write(("INSERT", first), ("INSERT", second), ("INSERT", third))
        (constant,) = ready.read(all_of("const_table"))
        assert constant.table_entry.is_const

        def read(*wanted: p4r.Entity) -> list[str]:
            return sorted(str(entity) for entity in ready.read(*wanted))

        def texts(*entities: p4r.Entity) -> list[str]:
            return sorted(map(str, entities))

        assert read(all_of()) == texts(first, second, third, constant)
        assert read(all_of("mixed_table")) == texts(first, second)
        assert read(all_of("mixed_table", priority=2)) == texts(second)
        assert read(all_of("mixed_table", action=action("forward"))) == texts(first)
        assert read(all_of("mixed_table", match=[optional(b"\x01")])) == texts(first, second)
        assert read(all_of("mixed_table", match=[optional(b"\x01")], priority=1)) == texts(first)
        assert read(all_of("exact_table", metadata=b"x")) == texts(third)
        assert read(all_of("exact_table", metadata=b"y")) == []
        assert read(all_of("exact_table", match=[exact(1, b"\x02")])) == []
        assert read(all_of("mixed_table"), all_of("exact_table")) == texts(first, second, third)

    def test_good_requests_are_answered_beside_bad_ones(self, ready: Controller) -> None:
        written = entry("exact_table", exact(1, b"\x01"))
        ready.write(("INSERT", written))
        unknown = p4r.Entity(table_entry=p4r.TableEntry(table_id=12345))
        received = []

        def read() -> None:
            for entities in ready.responses(all_of("exact_table"), unknown, p4r.Entity(), all_of(priority=3)):
                received.extend(entities)

        assert refusals(read) == ["OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "INVALID_ARGUMENT"]
        assert received == [written]

    def test_many_entries_come_in_several_responses(self, client: Controller) -> None:
        bmv2, info = sampler.program()
        bmv2["pipelines"][0]["tables"][0]["max_size"] = 5000
        client.push((sampler.packed(bmv2, info)[0], info))
        client.write(
            *(("INSERT", entry("exact_table", exact(1, n.to_bytes(2)))) for n in range(256, 256 + 2500))
        )
        sizes = [len(entities) for entities in client.responses(all_of("exact_table"))]
        assert sum(sizes) == 2500
        assert len(sizes) > 1

    def test_what_is_not_supported(self, ready: Controller) -> None:
        wanted = p4r.Entity(meter_entry=p4r.MeterEntry())
        assert refusals(lambda: ready.read(wanted)) == ["UNIMPLEMENTED"]


class TestCountersAndRegisters:
    @staticmethod
    def counter(index: int | None = None, packets: int | None = None, octets: int = 0) -> p4r.Entity:
        message = p4r.CounterEntry(counter_id=COUNTER)
        if index is not None:
            message.index.CopyFrom(p4r.Index(index=index))
        if packets is not None:
            message.data.CopyFrom(p4r.CounterData(packet_count=packets, byte_count=octets))
        return p4r.Entity(counter_entry=message)

    @staticmethod
    def register(index: int | None = None, value: bytes | None = None) -> p4r.Entity:
        message = p4r.RegisterEntry(register_id=REGISTER)
        if index is not None:
            message.index.CopyFrom(p4r.Index(index=index))
        if value is not None:
            message.data.bitstring = value
        return p4r.Entity(register_entry=message)

    def test_frames_are_counted_and_counts_can_be_set(self, ready: Controller, bench: Bench) -> None:
        bench.network.process(0, 0, frame())
        assert ready.read(self.counter(1)) == [self.counter(1, 1, 10)]
        ready.write(("MODIFY", self.counter(1, 100, 2000)))
        bench.network.process(0, 0, frame())
        assert ready.read(self.counter(1)) == [self.counter(1, 101, 2010)]

    def test_all_at_once(self, ready: Controller) -> None:
        ready.write(("MODIFY", self.counter(None, 7, 8)))
        expected = [self.counter(index, 7, 8) for index in range(8)]
        assert ready.read(self.counter()) == expected
        assert ready.read(p4r.Entity(counter_entry=p4r.CounterEntry())) == expected

    def test_no_data_changes_nothing(self, ready: Controller) -> None:
        ready.write(("MODIFY", self.counter(2, 7, 8)))
        ready.write(("MODIFY", self.counter(2)))
        assert ready.read(self.counter(2)) == [self.counter(2, 7, 8)]

    def test_registers(self, ready: Controller) -> None:
        ready.write(("MODIFY", self.register(2, b"\x12\x34")))
        zero = b"\x00"
        assert ready.read(self.register()) == [
            self.register(index, b"\x12\x34" if index == 2 else zero) for index in range(4)
        ]
        ready.write(("MODIFY", self.register(None, b"\x05")))
        assert ready.read(self.register(3)) == [self.register(3, b"\x05")]

    @pytest.mark.parametrize(
        ("code", "kind", "which"),
        [
            ("INVALID_ARGUMENT", "INSERT", ("counter", 0, 1)),
            ("INVALID_ARGUMENT", "DELETE", ("counter", 0, 1)),
            ("INVALID_ARGUMENT", "MODIFY", ("counter", -1, 1)),
            ("OUT_OF_RANGE", "MODIFY", ("counter", 8, 1)),
            ("INVALID_ARGUMENT", "MODIFY", ("counter", 0, -1)),
            ("INVALID_ARGUMENT", "INSERT", ("register", 0, b"\x01")),
            ("INVALID_ARGUMENT", "MODIFY", ("register", -1, b"\x01")),
            ("OUT_OF_RANGE", "MODIFY", ("register", 4, b"\x01")),
            ("OUT_OF_RANGE", "MODIFY", ("register", 0, b"\x01\x00\x00")),
            ("INVALID_ARGUMENT", "MODIFY", ("register", 0, None)),
        ],
    )
    def test_bad_updates(self, ready: Controller, code: str, kind: str, which: tuple) -> None:
        make = getattr(self, which[0])
        assert refusals(lambda: ready.write((kind, make(*which[1:])))) == [code]

    def test_unknown_ids(self, ready: Controller) -> None:
        counter = p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=5))
        register = p4r.Entity(register_entry=p4r.RegisterEntry(register_id=5))
        assert refusals(lambda: ready.read(counter, register, self.counter(9), self.register(9))) == [
            "INVALID_ARGUMENT",
            "INVALID_ARGUMENT",
            "OUT_OF_RANGE",
            "OUT_OF_RANGE",
        ]

    def test_direct_counters(self, ready: Controller, bench: Bench) -> None:
        written = mixed(1, optional(b"\x05"))
        ready.write(("INSERT", written))
        for _ in range(3):
            bench.network.process(0, 0, frame(d=5))
        counts = p4r.CounterData(packet_count=3, byte_count=30)
        (read,) = ready.read(all_of("mixed_table", counter_data=p4r.CounterData()))
        assert read.table_entry.counter_data == counts
        (read,) = ready.read(all_of("mixed_table"))
        assert not read.table_entry.HasField("counter_data")
        wanted = p4r.DirectCounterEntry(table_entry=written.table_entry)
        (read,) = ready.read(p4r.Entity(direct_counter_entry=wanted))
        assert read.direct_counter_entry.data == counts
        missing = p4r.DirectCounterEntry(table_entry=mixed(2, optional(b"\x06")).table_entry)
        assert refusals(lambda: ready.read(p4r.Entity(direct_counter_entry=missing))) == ["NOT_FOUND"]


class TestPackets:
    @staticmethod
    def packet_out(payload: bytes, *values: bytes, first: int = 1) -> p4r.PacketOut:
        metadata = [p4r.PacketMetadata(metadata_id=first + n, value=value) for n, value in enumerate(values)]
        return p4r.PacketOut(payload=payload, metadata=metadata)

    def test_packet_out_is_forwarded(self, ready: Controller, bench: Bench) -> None:
        sink = Sink()
        with bench.lock:
            host = bench.network.attach_host(0, 5, 10**11, 1000, 65536)
            bench.network.set_handler(host, sink)
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        ready.send(packet=self.packet_out(frame(a=1) + b"tail", b"\x01\xfe", b"\x7f"))
        assert bench.packet_outs.acquire(timeout=10)
        with bench.lock:
            bench.network.run(10**12)
        assert sink.frames == [frame(a=1) + b"tail"]

    @pytest.mark.parametrize(
        ("values", "first", "code"),
        [
            ((b"\x01",), 1, rpc_code.INVALID_ARGUMENT),
            ((b"\x01", b"\x00", b"\x00"), 1, rpc_code.INVALID_ARGUMENT),
            ((b"\x01", b"\x00"), 2, rpc_code.INVALID_ARGUMENT),
            ((b"\x02\x00", b"\x00"), 1, rpc_code.OUT_OF_RANGE),
            ((b"", b"\x00"), 1, rpc_code.OUT_OF_RANGE),
        ],
        ids=["missing", "extra", "unknown", "too wide", "empty"],
    )
    def test_bad_metadata_drops_it_and_says_so(
        self, ready: Controller, bench: Bench, values: tuple[bytes, ...], first: int, code: int
    ) -> None:
        packet = self.packet_out(frame(), *values, first=first)
        ready.send(packet=packet)
        error = ready.receive().error
        assert error.canonical_code == code
        assert error.packet_out.packet_out == packet
        assert not bench.packet_outs.acquire(blocking=False)
        assert ready.enter().status.code == rpc_code.OK

    def test_only_the_primary_sends(self, ready: Controller, bench: Bench) -> None:
        with Controller(bench.address, election_id=0) as backup:
            backup.send(packet=self.packet_out(frame(), b"\x01", b"\x00"))
            assert backup.receive().error.canonical_code == rpc_code.PERMISSION_DENIED
            backup.enter()
            backup.send(packet=self.packet_out(frame(), b"\x01", b"\x00"))
            assert backup.receive().error.canonical_code == rpc_code.PERMISSION_DENIED

    def test_packet_out_before_a_pipeline(self, client: Controller) -> None:
        client.send(packet=self.packet_out(frame(), b"\x01", b"\x00"))
        assert client.receive().error.canonical_code == rpc_code.FAILED_PRECONDITION

    def test_packet_in_goes_to_the_primary_with_its_metadata(self, ready: Controller, bench: Bench) -> None:
        with Controller(bench.address, election_id=0) as backup:
            backup.enter()
            header = (0x1A5 << 7 | 0x2A).to_bytes(2)
            bench.server.packet_in(1, header + b"first")
            bench.server.packet_in(1, b"\x00")  # too short for the header: dropped
            bench.server.packet_in(1, header)
            first, second = ready.receive().packet, ready.receive().packet
            assert first.payload == b"first"
            assert [(m.metadata_id, m.value) for m in first.metadata] == [(1, b"\x01\xa5"), (2, b"\x2a")]
            assert second.payload == b""
            assert backup.enter(election_id=0).status.code == rpc_code.ALREADY_EXISTS

    def test_packet_in_without_a_primary_is_dropped(self, bench: Bench) -> None:
        bench.server.packet_in(3, b"\0\0nobody")
        with Controller(bench.address, device_id=3) as controller:
            assert controller.enter().status.code == rpc_code.OK

    def test_digests_are_not_supported(self, ready: Controller) -> None:
        ready.send(digest_ack=p4r.DigestListAck(digest_id=1))
        error = ready.receive().error
        assert error.canonical_code == rpc_code.UNIMPLEMENTED
        assert error.WhichOneof("details") == "digest_list_ack"


class TestServer:
    def test_capabilities(self, client: Controller) -> None:
        assert client.stub.Capabilities(p4r.CapabilitiesRequest()).p4runtime_api_version.startswith("1.")
        unknown = p4r.CapabilitiesRequest(device_id=99)
        assert refused(lambda: client.stub.Capabilities(unknown))[0] == "NOT_FOUND"

    def test_port_in_use(self, bench: Bench) -> None:
        second = P4RuntimeServer(Network(), {}, bench.address, lock=threading.RLock())
        with pytest.raises(EmulationError, match=f"cannot listen on {bench.address}; .*another address"):
            second.start()
        second.stop()

    def test_the_port_is_free_after_stop(self) -> None:
        address = "127.0.0.1:0"
        for _ in range(2):
            server = P4RuntimeServer(Network(), {}, address, lock=threading.RLock())
            address = server.start()
            server.stop()
            server.stop()

    def test_stop_ends_open_streams(self, bench: Bench) -> None:
        with Controller(bench.address) as controller:
            controller.enter()
            bench.server.stop()
            with pytest.raises((grpc.RpcError, StopIteration)):
                controller.receive()

    def test_unix_socket(self, tmp_path: Path) -> None:
        network = Network()
        address = f"unix:{tmp_path / 'grpc.sock'}"
        server = P4RuntimeServer(network, {1: network.add_switch("one")}, address, lock=threading.RLock())
        assert server.start() == address
        with Controller(address) as controller:
            assert controller.enter().status.code == rpc_code.OK
        server.stop()

    def test_engine_calls_wait_for_the_lock(self, ready: Controller, bench: Bench) -> None:
        write = threading.Thread(
            target=ready.write, args=(("INSERT", entry("exact_table", exact(1, b"\x01"))),), daemon=True
        )
        with bench.lock:
            write.start()
            write.join(timeout=0.05)
            assert bench.network.table_len(0, 0) == 0
        write.join(timeout=10)
        assert bench.network.table_len(0, 0) == 1
