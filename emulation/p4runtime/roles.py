# SPDX-License-Identifier: Apache-2.0
"""What a role may do. A role without a configuration may do everything.

The specification leaves the form of a role's configuration to an agreement outside of it. The one taken here
is `stratum.P4RoleConfig`, the only one that is published; any other is refused.
"""

from collections.abc import Hashable, Iterable
from typing import final

from finsy.proto import p4r, rpc_code, stratum
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError

from emulation.p4runtime.arbitration import Arbitration
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal

__all__ = ["Role", "entity_id"]


def entity_id(entity: p4r.Entity) -> int:
    """The p4info id of the table, array, profile or digest that an entity is part of; 0 if there is none."""
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
    """Of one device: who is primary in it, and what it may do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arbitration: Arbitration[Hashable] = Arbitration()
        self.config: AnyMessage | None = None
        self._rules: stratum.P4RoleConfig | None = None
        self._ids: frozenset[int] = frozenset()

    def check(self, config: AnyMessage | None, all_roles: Iterable["Role"]) -> None:
        """INVALID_ARGUMENT for a configuration of no known form, or takes what is another role's alone."""
        rules = _parsed(config)
        own, ids = _exclusive(rules), _ids(rules)
        for other in all_roles:
            if other is not self and (both := (own & other._ids) | (ids & _exclusive(other._rules))):
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT,
                    f"id {min(both)} is of role {other.name!r} too, and one of the two has it to itself",
                )

    def configure(self, config: AnyMessage | None) -> None:
        """Take the primary's configuration, which was checked before."""
        self.config, self._rules = config, _parsed(config)
        self._ids = _ids(self._rules)

    def has(self, id: int) -> bool:
        """Whether entities with this p4info id, or without one, are the role's to write and to read."""
        return self._rules is None or id == 0 or id in self._ids

    @property
    def may_push_pipeline(self) -> bool:
        return self._rules is None or self._rules.can_push_pipeline

    def takes(self, packet: p4r.PacketIn) -> bool:
        """Whether the role's primary is sent this packet-in."""
        rules = self._rules
        if rules is None:
            return True
        if not rules.receives_packet_ins:
            return False
        if not rules.HasField("packet_in_filter"):
            return True
        wanted = rules.packet_in_filter
        return any(
            one.metadata_id == wanted.metadata_id and one.value == canonical(wanted.value)
            for one in packet.metadata
        )


def _ids(rules: stratum.P4RoleConfig | None) -> frozenset[int]:
    return frozenset((*rules.exclusive_p4_ids, *rules.shared_p4_ids)) if rules else frozenset()


def _exclusive(rules: stratum.P4RoleConfig | None) -> frozenset[int]:
    return frozenset(rules.exclusive_p4_ids) if rules else frozenset()


def _parsed(config: AnyMessage | None) -> stratum.P4RoleConfig | None:
    """INVALID_ARGUMENT for a configuration of another form than the one agreed upon."""
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
