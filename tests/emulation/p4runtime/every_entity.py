# SPDX-License-Identifier: Apache-2.0
"""tests/programs/every_entity.p4: short ways to say what its controller says, and the frames that ask it."""

from pathlib import Path

from finsy.proto import p4d, p4i, p4r
from google.protobuf import text_format

BUILD = Path(__file__).parents[2] / "programs" / "build"
INFO = text_format.Parse((BUILD / "every_entity.p4info.txtpb").read_text(), p4i.P4Info())
CONFIG = ((BUILD / "every_entity.json").read_bytes(), INFO)
ID: dict[str, int] = {
    item.preamble.alias: item.preamble.id
    for kind in (
        INFO.tables,
        INFO.actions,
        INFO.action_profiles,
        INFO.counters,
        INFO.meters,
        INFO.registers,
        INFO.digests,
        INFO.direct_counters,
        INFO.direct_meters,
        INFO.value_sets,
    )
    for item in kind
}
AGEING, BY_PROFILE, BY_SELECTOR, BY_WEIGHT, FIXED, INITIAL, COUNTED, METERED, METERED_BYTES, WIDE, NARROW = (
    range(11)
)
DIGEST, MULTICAST, CLONE, TO_CONTROLLER = range(11, 15)


def frame(kind: int, value: int = 0, flow: int = 0, result: int = 0) -> bytes:
    return bytes([kind, value]) + flow.to_bytes(2) + result.to_bytes(4)


def act(name: str, *params: int) -> p4r.Action:
    sent = [
        p4r.Action.Param(param_id=number, value=value.to_bytes(max(1, (value.bit_length() + 7) // 8)))
        for number, value in enumerate(params, start=1)
    ]
    return p4r.Action(action_id=ID[name], params=sent)


def to(port: int) -> p4r.Action:
    return act("forward", port)


def exact(value: int) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=1, exact=p4r.FieldMatch.Exact(value=bytes([value])))


def ternary(value: int, mask: int) -> p4r.FieldMatch:
    return p4r.FieldMatch(
        field_id=1, ternary=p4r.FieldMatch.Ternary(value=bytes([value]), mask=bytes([mask]))
    )


def key(table: str, value: int | None = None, **fields: object) -> p4r.TableEntry:
    """An entry without an action. In tables with ternary keys: all bits of the value, and priority 1."""
    if value is None:
        return p4r.TableEntry(table_id=ID[table], **fields)  # pyright: ignore
    if table in ("by_weight", "fixed"):
        fields.setdefault("priority", 1)
        match = ternary(value, 0xF0 if table == "fixed" else 0xFF)
        return p4r.TableEntry(table_id=ID[table], match=[match], **fields)  # pyright: ignore
    return p4r.TableEntry(table_id=ID[table], match=[exact(value)], **fields)  # pyright: ignore


def entry(table: str, value: int, action: p4r.Action | p4r.TableAction, **fields: object) -> p4r.Entity:
    message = key(table, value, **fields)
    if isinstance(action, p4r.Action):
        message.action.action.CopyFrom(action)
    else:
        message.action.CopyFrom(action)
    return p4r.Entity(table_entry=message)


def whole(table: str = "", **fields: object) -> p4r.Entity:
    """A wildcard read of entries, with their counters and meters."""
    wanted = p4r.TableEntry(
        table_id=ID[table] if table else 0,
        counter_data=p4r.CounterData(),
        meter_config=p4r.MeterConfig(),
        **fields,  # pyright: ignore
    )
    return p4r.Entity(table_entry=wanted)


# -- action profiles


def member(profile: str, id: int = 0, action: p4r.Action | None = None) -> p4r.Entity:
    return p4r.Entity(
        action_profile_member=p4r.ActionProfileMember(
            action_profile_id=ID[profile] if profile else 0, member_id=id, action=action
        )
    )


def group(profile: str, id: int = 0, *members: tuple[int, int], max_size: int = 0) -> p4r.Entity:
    """Members are (id, weight)."""
    return p4r.Entity(
        action_profile_group=p4r.ActionProfileGroup(
            action_profile_id=ID[profile] if profile else 0,
            group_id=id,
            max_size=max_size,
            members=[
                p4r.ActionProfileGroup.Member(member_id=member_id, weight=weight)
                for member_id, weight in members
            ],
        )
    )


def to_member(id: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_member_id=id)


def to_group(id: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_group_id=id)


def one_shot(*actions: tuple[p4r.Action, int], watch_port: bytes = b"") -> p4r.TableAction:
    """Actions with their weights. Only the first watches the port."""
    parts = [p4r.ActionProfileAction(action=action, weight=weight) for action, weight in actions]
    if watch_port:
        parts[0].watch_port = watch_port
    return p4r.TableAction(action_profile_action_set=p4r.ActionProfileActionSet(action_profile_actions=parts))


# -- arrays


def index(at: int | None) -> p4r.Index | None:
    return None if at is None else p4r.Index(index=at)


def rates(cir: int, cburst: int, pir: int, pburst: int) -> p4r.MeterConfig:
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def meter(name: str, at: int | None = None, config: p4r.MeterConfig | None = None) -> p4r.Entity:
    entry = p4r.MeterEntry(meter_id=ID[name] if name else 0, index=index(at), config=config)
    return p4r.Entity(meter_entry=entry)


def register(name: str, at: int | None = None, value: bytes | None = None) -> p4r.Entity:
    data = None if value is None else p4d.P4Data(bitstring=value)
    entry = p4r.RegisterEntry(register_id=ID[name] if name else 0, index=index(at), data=data)
    return p4r.Entity(register_entry=entry)


def counter(at: int | None = None, packets: int = 0, octets: int = 0) -> p4r.Entity:
    data = p4r.CounterData(packet_count=packets, byte_count=octets)
    return p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=ID["frames"], index=index(at), data=data))


# -- packet replication


def replica(port: int, instance: int = 0, *backups: tuple[int, int]) -> p4r.Replica:
    return p4r.Replica(
        port=port.to_bytes(2).lstrip(b"\0") or b"\0",
        instance=instance,
        backup_replicas=[
            p4r.BackupReplica(port=bytes([backup]), instance=other) for backup, other in backups
        ],
    )


def multicast(id: int = 0, *replicas: p4r.Replica, metadata: bytes = b"") -> p4r.Entity:
    entry = p4r.MulticastGroupEntry(multicast_group_id=id, replicas=replicas, metadata=metadata)
    engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
    return p4r.Entity(packet_replication_engine_entry=engine)


def clone(id: int = 0, *replicas: p4r.Replica, **fields: int) -> p4r.Entity:
    entry = p4r.CloneSessionEntry(session_id=id, replicas=replicas, **fields)  # pyright: ignore
    engine = p4r.PacketReplicationEngineEntry(clone_session_entry=entry)
    return p4r.Entity(packet_replication_engine_entry=engine)


# -- value sets


def flow(number: int) -> p4r.FieldMatch:
    value = number.to_bytes(4).lstrip(b"\0") or b"\0"
    return p4r.FieldMatch(field_id=2, exact=p4r.FieldMatch.Exact(value=value))


def value_set(*members: list[p4r.FieldMatch]) -> p4r.Entity:
    sent = [p4r.ValueSetMember(match=match) for match in members]
    return p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=ID["special"], members=sent))


# -- digests


def digest(timeout_ns: int = 0, size: int = 0, ack_ns: int = 0) -> p4r.Entity:
    config = p4r.DigestEntry.Config(max_timeout_ns=timeout_ns, max_list_size=size, ack_timeout_ns=ack_ns)
    return p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=ID["seen_t"], config=config))


EVERYTHING = (
    whole(),
    whole(is_default_action=True),
    member(""),
    group(""),
    p4r.Entity(counter_entry=p4r.CounterEntry()),
    meter(""),
    register(""),
    p4r.Entity(value_set_entry=p4r.ValueSetEntry()),
    p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry()),
    p4r.Entity(digest_entry=p4r.DigestEntry()),
    p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry()),
    p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry()),
)
"""Reads that return all that a controller can have written."""
