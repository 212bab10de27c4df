# SPDX-License-Identifier: Apache-2.0
"""Links that flows take through an HPN Pod by the hash of its switches, computed without building a fabric.

Groups, shifts and hash are those of the tables that a plan installs (controller.tables.groups). They are
computed for many flows at once, and for Pods of full size. Capacities are in ports of a NIC; the two
directions of a cable are two links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from controller.forwarding.ecmp_paths import port_of_bucket
from controller.forwarding.pipeline import flow_hash
from controller.path_probing import LB_VALUES, selected_members
from controller.plan.entry import BUCKETS, Hashing
from controller.tables.groups import group_size
from harness.errors import ModelError
from papers.flow_level.rates import Floats, Ints
from topologies.families.hpn.shape import CABLE_LANES, Shape

__all__ = ["Gpus", "Pod"]


@final
@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs as arrays of equal length: segment, host within the segment, and rail."""

    segment: Ints
    host: Ints
    rail: Ints

    @staticmethod
    def of(segment: ArrayLike, host: ArrayLike, rail: ArrayLike) -> Gpus:
        arrays = np.broadcast_arrays(*(np.asarray(item, np.int64) for item in (segment, host, rail)))
        return Gpus(*(array.ravel() for array in arrays))

    def __len__(self) -> int:
        return len(self.segment)

    def __getitem__(self, chosen: ArrayLike) -> Gpus:
        at = np.asarray(chosen)
        return Gpus(self.segment[at], self.host[at], self.rail[at])


@final
class Pod:
    """A Pod of HPN: each NIC has one port to each of the two ToRs of a set.

    With two planes, a plane for each ToR of a set, a frame stays on the plane of the port by which it leaves
    its NIC. With one plane, the aggregation switch chooses the ToR by hash.

    Raises:
        ModelError: The shape has several Pods, ToRs of all rails, trunks of several cables, or another number
            of ToRs in a set than two.
    """

    def __init__(self, shape: Shape, hashing: Hashing = "per-tier") -> None:
        if shape.pods != 1 or shape.mixed or shape.tors != 2 or shape.trunk != 1:
            mixed = ", sets of all rails" if shape.mixed else ""
            raise ModelError(
                f"this model does not cover {shape.pods} Pods, {shape.tors} ToRs a set, "
                f"{shape.trunk} cables a trunk{mixed}",
                remedy="take one Pod, sets of two ToRs and one rail, and trunks of one cable",
            )
        self.shape = shape
        self.planes = shape.planes
        # ToRs use the lowest bits of the hash; aggregation switches with per-tier hashing use higher bits.
        used = group_size(shape.aggs).bit_length() - 1
        self._agg_shift = 0 if hashing == "identical" else used
        self._ports = np.array([port_of_bucket(lb % BUCKETS, shape.tors) for lb in range(LB_VALUES)])
        hosts = shape.hosts + shape.backup
        self._nics = shape.segments * hosts * shape.rails * shape.tors
        self._cables = shape.segments * shape.rails * shape.tors * shape.aggs
        nics, cables = np.ones(self._nics), np.full(self._cables, float(CABLE_LANES))
        # Order of links: NIC to ToR, ToR to aggregation switch, aggregation switch to ToR, ToR to NIC.
        self.capacities: Floats = np.concatenate([nics, cables, cables, nics])

    def addresses(self, gpus: Gpus) -> Ints:
        plan = self.shape.plan
        fields = {"segment": gpus.segment, "host": gpus.host, "rank": gpus.rail}
        result = np.zeros(len(gpus), np.int64)
        for name, values in fields.items():
            result |= values << plan.shift(name)
        return result

    def port(self, lb: ArrayLike) -> Ints:
        """Return the egress ports of the NIC for frames with these values of the header field lb."""
        return self._ports[np.asarray(lb)]

    def links(self, source: Gpus, target: Gpus, lb: ArrayLike) -> Ints:
        """Return each flow's links, shape (flows, 4): from the NIC, from the ToR, to the ToR, to the NIC.

        The two links in the middle are -1 if source and target are below the same ToR.
        """
        shape = self.shape
        hashes = flow_hash(self.addresses(source), self.addresses(target), lb)
        port = self.port(lb)
        agg = selected_members(hashes, shape.aggs)
        node = (source.segment == target.segment) & (source.rail == target.rail)
        tor = port if self.planes > 1 else selected_members(hashes, shape.tors, self._agg_shift)
        tor = np.where(node, port, tor)
        up = self._cable(source.segment, source.rail, port, agg)
        down = self._cable(target.segment, target.rail, tor, agg)
        first = self._nics
        return np.stack(
            [
                self._nic(source, port),
                np.where(node, -1, first + up),
                np.where(node, -1, first + self._cables + down),
                first + 2 * self._cables + self._nic(target, tor),
            ],
            axis=1,
        )

    def nic_loads(self, loads: Floats) -> Floats:
        """Return the downward loads of NICs from loads by link, shape (NICs, ports)."""
        return loads[-self._nics :].reshape(-1, self.shape.tors)

    def set_loads(self, loads: Floats) -> Floats:
        """Return the loads from aggregation switches to the ToRs of each set, shape (sets, aggs, ToRs)."""
        shape = self.shape
        first = self._nics + self._cables
        cables = loads[first : first + self._cables]
        return cables.reshape(-1, shape.tors, shape.aggs).transpose(0, 2, 1)

    def _nic(self, gpus: Gpus, port: Ints) -> Ints:
        shape = self.shape
        nic = (gpus.segment * (shape.hosts + shape.backup) + gpus.host) * shape.rails + gpus.rail
        return nic * shape.tors + port

    def _cable(self, segment: Ints, rail: Ints, tor: Ints, agg: Ints) -> Ints:
        shape = self.shape
        return ((segment * shape.rails + rail) * shape.tors + tor) * shape.aggs + agg
