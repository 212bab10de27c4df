# SPDX-License-Identifier: Apache-2.0
"""Random P4Runtime updates of multicast groups and clone sessions, some wrong in one way."""

import random
from collections.abc import Sequence
from typing import final

from finsy.proto import p4r

__all__ = ["ReplicationMaker"]

_INVALID = 0.15
_KINDS = (p4r.Update.INSERT, p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.MODIFY, p4r.Update.DELETE)
# Few, so that programs come upon those that are there.
_IDS = range(1, 9)


@final
class ReplicationMaker:
    """Never two updates of one group in one batch: a batch may be carried out in any order."""

    def __init__(self, ports: Sequence[int], rng: random.Random) -> None:
        self._ports, self._rng = tuple(ports), rng

    def update(self) -> tuple[p4r.Update, str]:
        """With what is wrong in it, if anything is."""
        rng = self._rng
        update = p4r.Update(type=rng.choice(_KINDS))
        engine = update.entity.packet_replication_engine_entry
        entry = engine.multicast_group_entry if rng.random() < 0.5 else engine.clone_session_entry
        if isinstance(entry, p4r.MulticastGroupEntry):
            entry.multicast_group_id = rng.choice(_IDS)
        else:
            entry.session_id = rng.choice(_IDS)
        if update.type != p4r.Update.DELETE:
            copies = {
                (rng.choice(self._ports), rng.choice((0, 1, 7, 0xFFFF))) for _ in range(rng.randrange(5))
            }
            for port, instance in copies:
                entry.replicas.add(egress_port=port, instance=instance)
        return update, self._spoil(update, entry) if rng.random() < _INVALID else ""

    def _spoil(self, update: p4r.Update, entry: p4r.MulticastGroupEntry | p4r.CloneSessionEntry) -> str:
        which = self._rng.randrange(5)
        if which == 0:
            if isinstance(entry, p4r.MulticastGroupEntry):
                entry.multicast_group_id = 0
            else:
                entry.session_id = 0
            return "id 0"
        if which == 1 and entry.replicas:
            entry.replicas.add().CopyFrom(entry.replicas[0])
            return "copy given twice"
        # PI refuses a MODIFY of the next two kinds as well, but only when it has changed the copies.
        if which == 2 and isinstance(entry, p4r.CloneSessionEntry) and update.type == p4r.Update.INSERT:
            entry.class_of_service = 1
            return "class of service 1"
        if which == 3 and isinstance(entry, p4r.CloneSessionEntry) and update.type == p4r.Update.INSERT:
            entry.packet_length_bytes = -1
            return "length -1"
        update.type = p4r.Update.UNSPECIFIED
        return "no update type"
