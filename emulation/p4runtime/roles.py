# SPDX-License-Identifier: Apache-2.0
"""Permissions of roles. A role without a configuration may do everything.

The specification leaves the form of a role's configuration open. The server accepts `stratum.P4RoleConfig`,
the only published form, and refuses any other.
"""

from collections.abc import Hashable, Iterable
from typing import final

from finsy.proto import p4r, rpc_code, stratum
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError

from emulation.p4runtime.advisories import Advisories
from emulation.p4runtime.arbitration import Arbitration
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal

__all__ = ["Role", "entity_id"]


def entity_id(entity: p4r.Entity) -> int:
    """Return the p4info id of the table, array, profile or digest that an entity belongs to, or 0."""
    match entity.WhichOneof("entity"):
        case "table_entry":
            return entity.table_entry.table_id
        case "direct_counter_entry":
            return entity.direct_counter_entry.table_entry.table_id
        case "direct_meter_entry":
            return entity.direct_meter_entry.table_entry.table_id
        case "action_profile_member":
            return entity.action_profile_member.action_profile_id
        case "action_profile_group":
            return entity.action_profile_group.action_profile_id
        case "counter_entry":
            return entity.counter_entry.counter_id
        case "meter_entry":
            return entity.meter_entry.meter_id
        case "register_entry":
            return entity.register_entry.register_id
        case "value_set_entry":
            return entity.value_set_entry.value_set_id
        case "digest_entry":
            return entity.digest_entry.digest_id
    return 0


@final
class Role:
    """A role of one device: its arbitration, its notifications and its permissions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arbitration: Arbitration[Hashable] = Arbitration()
        self.advisories: Advisories[Hashable] = Advisories()
        self.config: AnyMessage | None = None
        self._rules: stratum.P4RoleConfig | None = None
        self._ids: frozenset[int] = frozenset()

    def check(self, config: AnyMessage | None, all_roles: Iterable["Role"]) -> None:
        """Refuse a configuration of unknown form, or an id that two roles have and either has exclusively."""
        rules = _parsed(config)
        own, ids = _exclusive(rules), _ids(rules)
        for other in all_roles:
            if other is not self and (both := (own & other._ids) | (ids & _exclusive(other._rules))):
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT,
                    f"id {min(both)} belongs to role {other.name!r} too, and one of them has it exclusively",
                )

    def configure(self, config: AnyMessage | None) -> None:
        """Adopt the primary's configuration, already accepted by `check`."""
        self.config, self._rules = config, _parsed(config)
        self._ids = _ids(self._rules)

    def has(self, id: int) -> bool:
        """Return whether the role may read and write entities with this p4info id; 0 stands for no id."""
        return self._rules is None or id == 0 or id in self._ids

    @property
    def may_push_pipeline(self) -> bool:
        """True if the role may set the pipeline."""
        return self._rules is None or self._rules.can_push_pipeline

    def takes(self, packet: p4r.PacketIn) -> bool:
        """Return whether the role's primary receives this packet-in."""
        rules = self._rules
        if rules is None:
            return True
        if not rules.receives_packet_ins:
            return False
        if not rules.HasField("packet_in_filter"):
            return True
        wanted = rules.packet_in_filter
        return any(
            metadata.metadata_id == wanted.metadata_id and metadata.value == canonical(wanted.value)
            for metadata in packet.metadata
        )


def _ids(rules: stratum.P4RoleConfig | None) -> frozenset[int]:
    return frozenset((*rules.exclusive_p4_ids, *rules.shared_p4_ids)) if rules else frozenset()


def _exclusive(rules: stratum.P4RoleConfig | None) -> frozenset[int]:
    return frozenset(rules.exclusive_p4_ids) if rules else frozenset()


def _parsed(config: AnyMessage | None) -> stratum.P4RoleConfig | None:
    """Return the rules of a configuration; INVALID_ARGUMENT if it is not a stratum.P4RoleConfig."""
    if config is None:
        return None
    rules = stratum.P4RoleConfig()
    try:
        if config.Unpack(rules):
            return rules
    except DecodeError:
        pass
    raise Refusal(
        rpc_code.INVALID_ARGUMENT, f"the role config must be a stratum.P4RoleConfig, not {config.type_url!r}"
    )
