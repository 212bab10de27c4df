# SPDX-License-Identifier: Apache-2.0
"""Sizes of HPN and DCN+: numbers of switches and ports, names, addresses. This module builds no fabric."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, final

from topologies.errors import TopologyError
from topologies.families.declaration import Spec
from topologies.model import AddressPlan
from topologies.model.address import CNA_BITS, padded_plan

__all__ = ["CABLE_LANES", "SWITCH_LANES", "Shape", "Tors", "planned"]

# Ports of 200 Gbit/s of a chip of 51.2 Tbit/s; a cable between switches takes two ports (HPN, structure).
SWITCH_LANES = 256
CABLE_LANES = 2

Tors = Annotated[Literal["dual", "single"], Spec("ToRs of a NIC: two, or one")]


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of an HPN fabric: its numbers of hosts, switches, planes and cables.

    `hosts`, `backup`: hosts of a segment in use, and idle hosts of a segment.
    `tors`: ToRs of a set. With `mixed` a set serves all rails of its hosts, else one rail.
    `aggs`: aggregation switches of one plane of one Pod; every ToR has `trunk` cables to each.
    `cores`: cores of one plane, in `core_groups` groups; an aggregation switch has a cable to each core of
        one group.
    """

    pods: int
    segments: int
    hosts: int
    backup: int
    rails: int
    planes: int
    tors: int
    aggs: int
    cores: int
    mixed: bool = False
    trunk: int = 1
    core_groups: int = 1

    @property
    def gpus(self) -> int:
        """GPUs in use."""
        return self.pods * self.segments * self.hosts * self.rails

    @property
    def backup_gpus(self) -> int:
        return self.pods * self.segments * self.backup * self.rails

    @property
    def sets(self) -> int:
        """Number of sets of ToRs of a segment."""
        return 1 if self.mixed else self.rails

    @property
    def tors_a_segment(self) -> int:
        return self.sets * self.tors

    @property
    def all_tors(self) -> int:
        return self.pods * self.segments * self.tors_a_segment

    @property
    def all_aggs(self) -> int:
        return self.pods * self.planes * self.aggs

    @property
    def all_cores(self) -> int:
        return self.planes * self.cores

    @property
    def active_ports(self) -> int:
        """Ports of a ToR to hosts in use."""
        return self.hosts * (self.rails if self.mixed else 1)

    @property
    def backup_ports(self) -> int:
        """Ports of a ToR to idle hosts."""
        return self.backup * (self.rails if self.mixed else 1)

    @property
    def nic_lanes(self) -> int:
        """Lanes of a NIC's cable, in ports of 200 Gbit/s: a NIC has two ports in all."""
        return CABLE_LANES // self.tors

    @property
    def tor_ports_up(self) -> int:
        return self.aggs * self.trunk

    @property
    def tor_oversubscription(self) -> float:
        """Ratio of the rate from hosts in use into a ToR to the rate of its uplinks."""
        return self.active_ports * self.nic_lanes / (self.tor_ports_up * CABLE_LANES)

    @property
    def agg_ports_down(self) -> int:
        return self.segments * self.tors_a_segment // self.planes * self.trunk

    @property
    def agg_ports_up(self) -> int:
        return self.cores // self.core_groups

    @property
    def core_ports(self) -> int:
        return self.pods * self.aggs // self.core_groups

    @property
    def agg_oversubscription(self) -> float:
        """Ratio of an aggregation switch's rate from below to its rate to cores; infinite without cores."""
        return self.agg_ports_down / self.agg_ports_up if self.cores else float("inf")

    @property
    def plan(self) -> AddressPlan:
        """Fields of an address: class, padding, Pod if there are several, segment, host, rank of the rail.

        TopologyError when 16 bits are not enough.
        """
        extents = {
            "pod": self.pods,
            "segment": self.segments,
            "host": self.hosts + self.backup,
            "rank": self.rails,
        }
        bits = {name: max(1, (count - 1).bit_length()) for name, count in extents.items()}
        if self.pods == 1:
            del bits["pod"]
        pad = CNA_BITS - 1 - sum(bits.values())
        if pad < 0:
            raise TopologyError(
                f"{self.pods} Pods of {self.segments} segments of {self.hosts + self.backup} hosts of "
                f"{self.rails} GPUs need addresses of {CNA_BITS - pad} bits, but an address has {CNA_BITS}",
                remedy="use fewer Pods, segments or hosts",
            )
        return padded_plan(1, bits)

    def check(self) -> None:
        """Raise TopologyError if planes cannot divide the ToRs of a set, or Pods have no cores."""
        if self.planes not in (1, self.tors):
            raise TopologyError(
                f"{self.planes} planes cannot divide {self.tors} ToRs of a set",
                remedy=f"use 1 plane or {self.tors}: a plane is for one ToR of each set"
                if self.tors > 1
                else "use 1 plane, or tors dual",
            )
        if self.pods > 1 and not self.cores:
            raise TopologyError(
                f"{self.pods} Pods have no cores to join them", remedy="give cores, or one Pod"
            )

    def host_numbers(self) -> Iterator[tuple[int, int, int]]:
        """Yield (Pod, segment, host) of hosts in use, then of idle hosts."""
        for numbers in (range(self.hosts), range(self.hosts, self.hosts + self.backup)):
            for pod in range(self.pods):
                for segment in range(self.segments):
                    for host in numbers:
                        yield pod, segment, host

    def gpu(self, pod: int, segment: int, host: int, rank: int) -> str:
        """Return the name of a GPU; GPUs of backup hosts are named spare, with numbers of their own."""
        segment_number = pod * self.segments + segment
        if host < self.hosts:
            return f"gpu{(segment_number * self.hosts + host) * self.rails + rank}"
        return f"spare{(segment_number * self.backup + host - self.hosts) * self.rails + rank}"

    def tor(self, pod: int, segment: int, rank: int, number: int) -> str:
        """Return the name of a ToR: segment counted over all Pods, rail unless `mixed`, number in the set."""
        rail = "" if self.mixed else f"{rank}."
        return f"tor{pod * self.segments + segment}.{rail}{number}"

    def agg(self, pod: int, plane: int, number: int) -> str:
        """Return the name of an aggregation switch: Pod if there are several, plane, number."""
        return f"agg{f'{pod}.' if self.pods > 1 else ''}{plane}.{number}"

    def core(self, plane: int, number: int) -> str:
        return f"core{plane}.{number}"


def planned(
    segments: int = 2,
    hosts: int = 4,
    rails: int = 8,
    *,
    backup: int = 0,
    tors: Tors = "dual",
    planes: int = 0,
    aggs: int = 4,
    pods: int = 1,
    cores: int = 0,
    mixed: bool = False,
    trunk: int = 1,
    radix: int = SWITCH_LANES,
) -> Shape:
    """Return the checked shape of the parameters; `planes` 0: the number of ToRs of a set.

    Cores are in the fewest groups of equal size for which a core needs at most `radix` ports, or else in one
    group.
    """
    count = 2 if tors == "dual" else 1
    groups = (n for n in range(1, aggs + 1) if not (aggs % n or cores % n))
    group = next((n for n in groups if pods * aggs // n * CABLE_LANES <= radix), 1)
    shape = Shape(
        pods, segments, hosts, backup, rails, planes or count, count, aggs, cores, mixed, trunk, group
    )
    shape.check()
    return shape
