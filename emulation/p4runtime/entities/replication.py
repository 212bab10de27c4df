# SPDX-License-Identifier: Apache-2.0
"""The packet replication engine of one switch: multicast groups and clone sessions.

A replica with backups is sent to the first port that is up among its own and its backups', if any.
"""

from collections.abc import Iterator, Set
from typing import final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal, engine_refusal

__all__ = ["Replication"]

_INVALID = rpc_code.INVALID_ARGUMENT
_INSERT, _DELETE = p4r.Update.INSERT, p4r.Update.DELETE
_PORTS = 511  # v1model's port numbers are 9 bits wide, and 511 means drop
_GROUPS = 1 << 16  # bits of mcast_grp
_SESSIONS = 1 << 15  # clone sessions that BMv2 has
_INSTANCES = 1 << 16  # bits of egress_rid

_Ports = list[tuple[int, int]]
"""(port, instance) of a replica and of its backups, in order of preference."""
_Copied = p4r.MulticastGroupEntry | p4r.CloneSessionEntry


@final
class Replication:
    """P4Runtime writes and reads of the multicast groups and clone sessions of a switch.

    `down` is the set of down ports. Callers hold the engine's lock.
    """

    def __init__(self, network: _engine.SwitchSet, switch: int, down: Set[int]) -> None:
        self._network = network
        self._switch = switch
        self._down = down
        self._groups: dict[int, tuple[p4r.MulticastGroupEntry, list[_Ports]]] = {}
        self._sessions: dict[int, tuple[p4r.CloneSessionEntry, list[_Ports]]] = {}

    def write(self, kind: int, entry: p4r.PacketReplicationEngineEntry) -> None:
        """Carry out an INSERT, MODIFY or DELETE of a group or a session."""
        which = entry.WhichOneof("type")
        if which == "multicast_group_entry":
            self._write_group(kind, entry.multicast_group_entry)
        elif which == "clone_session_entry":
            self._write_session(kind, entry.clone_session_entry)
        else:
            raise Refusal(_INVALID, "the packet replication engine entry is neither a group nor a session")

    def _write_group(self, kind: int, group: p4r.MulticastGroupEntry) -> None:
        id = group.multicast_group_id
        what = f"multicast group {id}"
        _check_id(kind, id, _GROUPS, id in self._groups, what)
        if kind == _DELETE:
            self._network.multicast_delete(self._switch, id)
            del self._groups[id]
            return
        replicas = _replicas(group, what)
        kept = p4r.MulticastGroupEntry()
        kept.CopyFrom(group)
        _shorten(kept)
        self._set_group(id, replicas)
        self._groups[id] = kept, replicas

    def _set_group(self, id: int, replicas: list[_Ports]) -> None:
        if status := self._network.multicast_set(self._switch, id, self._live(replicas)):
            raise engine_refusal(status, f"multicast group {id}")

    def _write_session(self, kind: int, session: p4r.CloneSessionEntry) -> None:
        id = session.session_id
        what = f"clone session {id}"
        _check_id(kind, id, _SESSIONS, id in self._sessions, what)
        if kind == _DELETE:
            self._network.clone_delete(self._switch, id)
            del self._sessions[id]
            return
        replicas = _replicas(session, what)
        if session.packet_length_bytes < 0:
            raise Refusal(_INVALID, f"{what}: packet_length_bytes {session.packet_length_bytes} is below 0")
        if session.class_of_service:
            raise Refusal(rpc_code.UNIMPLEMENTED, f"{what}: v1model has no class of service for clones")
        kept = p4r.CloneSessionEntry()
        kept.CopyFrom(session)
        _shorten(kept)
        self._set_session(id, replicas, session.packet_length_bytes)
        self._sessions[id] = kept, replicas

    def _set_session(self, id: int, replicas: list[_Ports], octets: int) -> None:
        if status := self._network.clone_set(self._switch, id, self._live(replicas), octets):
            raise engine_refusal(status, f"clone session {id}")

    def _live(self, replicas: list[_Ports]) -> list[tuple[int, int]]:
        """Return (port, instance) of each replica; of a replica with backups, the first that is up.

        A replica without backups keeps its port, even if it is down; a replica with no port up is left out.
        """
        chosen = (
            ports[0] if len(ports) == 1 else next((copy for copy in ports if copy[0] not in self._down), None)
            for ports in replicas
        )
        return [copy for copy in chosen if copy is not None]

    def port_changed(self, port: int) -> None:
        """Choose ports anew for replicas with backups and with `port` among their candidates."""
        for id, (_, replicas) in self._groups.items():
            if _chooses(replicas, port):
                self._set_group(id, replicas)
        for id, (session, replicas) in self._sessions.items():
            if _chooses(replicas, port):
                self._set_session(id, replicas, session.packet_length_bytes)

    def read(self, wanted: p4r.PacketReplicationEngineEntry) -> Iterator[p4r.Entity]:
        """Yield the group or session of an id, all of a type for id 0, or everything without a type."""
        which = wanted.WhichOneof("type")
        if which != "clone_session_entry":
            for id, (group, _) in self._groups.items():
                if wanted.multicast_group_entry.multicast_group_id in (0, id):
                    entry = p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
                    yield p4r.Entity(packet_replication_engine_entry=entry)
        if which != "multicast_group_entry":
            for id, (session, _) in self._sessions.items():
                if wanted.clone_session_entry.session_id in (0, id):
                    entry = p4r.PacketReplicationEngineEntry(clone_session_entry=session)
                    yield p4r.Entity(packet_replication_engine_entry=entry)


def _check_id(kind: int, id: int, limit: int, present: bool, what: str) -> None:
    if not 0 < id < limit:
        raise Refusal(_INVALID, f"{what}: id {id} is not within 1..{limit - 1}")
    if kind == _INSERT and present:
        raise Refusal(rpc_code.ALREADY_EXISTS, f"{what} exists already")
    if kind != _INSERT and not present:
        raise Refusal(rpc_code.NOT_FOUND, f"{what} does not exist")


def _replicas(entry: _Copied, what: str) -> list[_Ports]:
    replicas: list[_Ports] = []
    for replica in entry.replicas:
        if replica.WhichOneof("port_kind") == "egress_port":
            port = replica.egress_port
        else:
            port = int.from_bytes(replica.port) if replica.port else -1
        ports = [(port, replica.instance)]
        ports += [
            (int.from_bytes(backup.port) if backup.port else -1, backup.instance)
            for backup in replica.backup_replicas
        ]
        for port, instance in ports:
            if not 0 <= port < _PORTS:
                given = "a replica has no port" if port == -1 else f"port {port} of a replica is unknown"
                raise Refusal(_INVALID, f"{what}: {given}; give a port from 0 to {_PORTS - 1}")
            if instance >= _INSTANCES:
                raise Refusal(_INVALID, f"{what}: instance {instance} is not below {_INSTANCES}")
        if ports[0][0] in (port for port, _ in ports[1:]):
            raise Refusal(_INVALID, f"{what}: port {ports[0][0]} is a backup of itself")
        replicas.append(ports)
    copies = [copy for ports in replicas for copy in ports]
    if len(set(copies)) != len(copies):
        port, instance = max(copies, key=copies.count)
        raise Refusal(_INVALID, f"{what} has two replicas with port {port} and instance {instance}")
    return replicas


def _chooses(replicas: list[_Ports], port: int) -> bool:
    return any(len(ports) > 1 and port in (candidate for candidate, _ in ports) for ports in replicas)


def _shorten(entry: _Copied) -> None:
    """Convert the ports of replicas, in place, to canonical bytestrings."""
    for replica in entry.replicas:
        if replica.port:
            replica.port = canonical(replica.port)
        for backup in replica.backup_replicas:
            backup.port = canonical(backup.port)
