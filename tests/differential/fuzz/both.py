# SPDX-License-Identifier: Apache-2.0
"""P4Runtime as it is, without a client's checks: the same messages to the engine and to BMv2."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import grpc
from finsy.proto import p4i, p4r, p4r_grpc, rpc_code, rpc_status

from tests.differential.differential import Differential

__all__ = ["Both", "Difference", "describe"]

# The device id and the election id of Differential's clients.
_DEVICE, _ELECTION = 1, 1
_SECONDS = 30.0
_GROUP, _SESSION = "multicast group", "clone session"
_DETAILS = "grpc-status-details-bin"
_NAMES: dict[int, str] = {number: name for name, number in rpc_code.Code.items()}
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """`kind` is the same for what has one cause; `text` has all the values."""

    kind: str
    text: str


@final
class Both:
    """Raw stubs beside the primary controllers of a running Differential."""

    def __init__(self, pair: Differential) -> None:
        self._channels = [grpc.insecure_channel(address) for address in pair.addresses]
        self._stubs: list[Any] = [p4r_grpc.P4RuntimeStub(channel) for channel in self._channels]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels:
            channel.close()

    def write(self, updates: Sequence[p4r.Update]) -> list[tuple[str, str]]:
        """Return the answers of the engine and of BMv2 to each update, as names of codes."""
        engine, bmv2 = (_codes(stub, _request(updates)) for stub in self._stubs)
        return list(zip(engine, bmv2, strict=True))

    def entries(self, info: p4i.P4Info) -> list[p4r.TableEntry]:
        """Return the engine's entries, without default and constant entries."""
        tables = (table for table in info.tables if not table.is_const_table)
        result = (entry for table in tables for entry in _entries(self._stubs[0], table).values())
        held = [entry for entry in result if not entry.is_default_action]
        for entry in held:
            entry.ClearField("counter_data")
        return held

    def read_differences(self, info: p4i.P4Info) -> list[Difference]:
        """Entries of all tables, default entries and direct counters, that the two do not return alike."""
        result: list[Difference] = []
        for table in info.tables:
            name = table.preamble.name
            for engine, bmv2 in self._unlike(table):
                kind = "only the engine" if bmv2 is None else "only BMv2" if engine is None else "values"
                texts = [describe(entry) if entry else "nothing" for entry in (engine, bmv2)]
                result.append(Difference(f"read {name}: {kind}", f"engine {texts[0]}\nBMv2 {texts[1]}"))
        return result

    def replication_differences(self) -> list[Difference]:
        """Multicast groups and clone sessions that the two do not return alike."""
        engine, bmv2 = (_replication(stub) for stub in self._stubs)
        return [
            Difference(
                f"read {kind}",
                f"engine {engine.get((kind, id), 'none')}\nBMv2 {bmv2.get((kind, id), 'none')}",
            )
            for kind, id in sorted({*engine, *bmv2})
            if engine.get((kind, id)) != bmv2.get((kind, id))
        ]

    def profile_differences(self, profiles: Sequence[p4i.ActionProfile]) -> list[Difference]:
        """Their members and groups that the two do not return alike."""
        result: list[Difference] = []
        for profile in profiles:
            engine, bmv2 = (_profile(stub, profile) for stub in self._stubs)
            for key in sorted({*engine, *bmv2}):
                if engine.get(key) != bmv2.get(key):
                    texts = [held.get(key, "nothing") for held in (engine, bmv2)]
                    kind = f"read {profile.preamble.name}: {key[0]}"
                    result.append(Difference(kind, f"engine {texts[0]}\nBMv2 {texts[1]}"))
        return result

    def forget_replication(self) -> None:
        """A new pipeline does not take the groups and sessions of the old one away from BMv2."""
        for stub in self._stubs:
            updates: list[p4r.Update] = []
            for kind, id in _replication(stub):
                update = p4r.Update(type=_DELETE)
                entry = update.entity.packet_replication_engine_entry
                if kind == _GROUP:
                    entry.multicast_group_entry.multicast_group_id = id
                else:
                    entry.clone_session_entry.session_id = id
                updates.append(update)
            if updates:
                _codes(stub, _request(updates))

    def repair(self, info: p4i.P4Info) -> None:
        """Give BMv2 the engine's entries, where one of them has taken an update that the other has not."""
        for table in info.tables:
            updates: list[p4r.Update] = []
            for engine, bmv2 in self._unlike(table):
                kind = _DELETE if engine is None else _INSERT if bmv2 is None else _MODIFY
                update = p4r.Update(type=kind)
                update.entity.table_entry.CopyFrom(engine or bmv2 or p4r.TableEntry())
                update.entity.table_entry.ClearField("is_const")
                # Deletions first: the table may be full.
                updates.insert(0 if kind == _DELETE else len(updates), update)
            if updates:
                _codes(self._stubs[1], _request(updates))

    def _unlike(self, table: p4i.Table) -> list[tuple[p4r.TableEntry | None, p4r.TableEntry | None]]:
        engine, bmv2 = (_entries(stub, table) for stub in self._stubs)
        keys = sorted({*engine, *bmv2})
        return [(engine.get(key), bmv2.get(key)) for key in keys if engine.get(key) != bmv2.get(key)]


def describe(message: p4r.Update | p4r.TableEntry) -> str:
    """In one line."""
    return " ".join(str(message).split())


def _request(updates: Sequence[p4r.Update]) -> p4r.WriteRequest:
    request = p4r.WriteRequest(device_id=_DEVICE, updates=updates)
    request.election_id.low = _ELECTION
    return request


def _codes(stub: Any, request: p4r.WriteRequest) -> list[str]:
    try:
        stub.Write(request, timeout=_SECONDS)
    except grpc.RpcError as ex:
        answer: Any = ex
        details = dict(answer.trailing_metadata() or ()).get(_DETAILS)
        status = rpc_status.Status.FromString(details) if details else rpc_status.Status()
        if len(status.details) != len(request.updates):
            return [f"all {answer.code().name}"] * len(request.updates)
        codes: list[str] = []
        for detail in status.details:
            error = p4r.Error()
            detail.Unpack(error)
            codes.append(_NAMES[error.canonical_code])
        return codes
    return ["OK"] * len(request.updates)


def _entries(stub: Any, table: p4i.Table) -> dict[bytes, p4r.TableEntry]:
    """Return entries by table key, with match fields in order of their ids."""
    request = p4r.ReadRequest(device_id=_DEVICE)
    # PI does not tell the default action of an indirect table.
    for is_default in (False,) if table.implementation_id else (False, True):
        entry = request.entities.add().table_entry
        entry.table_id, entry.is_default_action = table.preamble.id, is_default
        if table.direct_resource_ids and not is_default:
            entry.counter_data.SetInParent()
    result: dict[bytes, p4r.TableEntry] = {}
    for response in stub.Read(request, timeout=_SECONDS):
        for entity in response.entities:
            entry = p4r.TableEntry()
            entry.CopyFrom(entity.table_entry)
            # PI gives the whole range of a field of no whole bytes, which should be left out.
            tops = {field.id: (1 << field.bitwidth) - 1 for field in table.match_fields}
            matches = [
                match
                for match in sorted(entry.match, key=lambda match: match.field_id)
                if not _is_whole(match.range, tops[match.field_id])
            ]
            del entry.match[:]
            entry.match.extend(matches)
            # PI gives constant entries priorities of its own, and says of none that it is constant.
            entry.is_const = False
            if table.is_const_table:
                entry.priority = 0
            key = p4r.TableEntry(match=entry.match, priority=entry.priority)
            key.is_default_action = entry.is_default_action
            result[key.SerializeToString(deterministic=True)] = entry
    return result


def _is_whole(range: p4r.FieldMatch.Range, top: int) -> bool:
    return bool(range.high) and int.from_bytes(range.low) == 0 and int.from_bytes(range.high) == top


def _replication(stub: Any) -> dict[tuple[str, int], str]:
    request = p4r.ReadRequest(device_id=_DEVICE)
    request.entities.add().packet_replication_engine_entry.multicast_group_entry.SetInParent()
    request.entities.add().packet_replication_engine_entry.clone_session_entry.SetInParent()
    result: dict[tuple[str, int], str] = {}
    for response in stub.Read(request, timeout=_SECONDS):
        for entity in response.entities:
            entry = entity.packet_replication_engine_entry
            group, session = entry.multicast_group_entry, entry.clone_session_entry
            is_group = entry.WhichOneof("type") == "multicast_group_entry"
            key = (_GROUP, group.multicast_group_id) if is_group else (_SESSION, session.session_id)
            copies = (group if is_group else session).replicas
            result[key] = (
                f"{session.packet_length_bytes} {sorted((c.egress_port, c.instance) for c in copies)}"
            )
    return result


def _profile(stub: Any, profile: p4i.ActionProfile) -> dict[tuple[str, int], str]:
    request = p4r.ReadRequest(device_id=_DEVICE)
    request.entities.add().action_profile_member.action_profile_id = profile.preamble.id
    if profile.with_selector:
        request.entities.add().action_profile_group.action_profile_id = profile.preamble.id
    result: dict[tuple[str, int], str] = {}
    for response in stub.Read(request, timeout=_SECONDS):
        for entity in response.entities:
            if entity.WhichOneof("entity") == "action_profile_member":
                member = entity.action_profile_member
                result["member", member.member_id] = " ".join(str(member).split())
            else:
                group = entity.action_profile_group
                shares = sorted((member.member_id, member.weight) for member in group.members)
                result["group", group.group_id] = f"{group.max_size} {shares}"
    return result
