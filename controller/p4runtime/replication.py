# SPDX-License-Identifier: Apache-2.0
"""Entries of the packet replication engine as P4Runtime messages."""

from collections.abc import Sequence

from finsy.proto import p4r

__all__ = ["multicast_group"]


def multicast_group(number: int, ports: Sequence[int]) -> p4r.PacketReplicationEngineEntry:
    """Return multicast group `number`, copying a frame to each of `ports`."""
    group = p4r.MulticastGroupEntry(multicast_group_id=number)
    for instance, port in enumerate(ports, 1):
        group.replicas.add(egress_port=port, instance=instance)
    return p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
