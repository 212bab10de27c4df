# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of its topology, as frozen values."""

from __future__ import annotations

from typing import Annotated, Any, final

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Model", "Name", "NotNegative", "Positive", "Topology"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


# Of scenarios, variants and jobs: also a folder of results, and a part of what figures are called.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@final
class Topology(Model):
    """A generator of the catalogue and its parameters; what is left out is the generator's default."""

    name: str
    dims: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    lanes: Annotated[int, Field(ge=1)] | None = None
    lane_rate_gbps: Positive | None = None
    delay_ns: NotNegative | None = None
    planes: Annotated[int, Field(ge=1)] | None = None
    spares: Annotated[int, Field(ge=0)] | None = None
    cpus: Annotated[int, Field(ge=0)] | None = None
    hrs_per_lrs: Annotated[int, Field(ge=0)] | None = None
    hrs: Annotated[int, Field(ge=1)] | None = None
    lrs: Annotated[int, Field(ge=1)] | None = None
    board_lanes: Annotated[int, Field(ge=1)] | None = None
    host_lanes: Annotated[int, Field(ge=1)] | None = None
    uplink_lanes: Annotated[int, Field(ge=1)] | None = None
    rack_delay_ns: NotNegative | None = None
    hrs_delay_ns: NotNegative | None = None
    domains: Annotated[int, Field(ge=1)] | None = None
    hb_size: Annotated[int, Field(ge=1)] | None = None
    inside: str | None = None
    radix: Annotated[int, Field(ge=1)] | None = None
    uplinks: Annotated[int, Field(ge=0)] | None = None
    spines: Annotated[int, Field(ge=0)] | None = None
    hb_gbps: Positive | None = None
    nic_gbps: Positive | None = None
    hb_delay_ns: NotNegative | None = None
    nic_delay_ns: NotNegative | None = None
    spine_delay_ns: NotNegative | None = None
    spare_domains: Annotated[int, Field(ge=0)] | None = None
    spare_rails: Annotated[int, Field(ge=0)] | None = None
    optical: bool | None = None
    reconfiguration_us: NotNegative | None = None
    pods: Annotated[int, Field(ge=1)] | None = None
    leaves: Annotated[int, Field(ge=1)] | None = None
    accelerators: Annotated[int, Field(ge=1)] | None = None
    tau: Annotated[int, Field(ge=0)] | None = None
    ports: Annotated[int, Field(ge=0)] | None = None
    wiring: str | None = None
    core_delay_ns: NotNegative | None = None
    segments: Annotated[int, Field(ge=1)] | None = None
    hosts: Annotated[int, Field(ge=1)] | None = None
    rails: Annotated[int, Field(ge=2)] | None = None
    backup: Annotated[int, Field(ge=0)] | None = None
    tors: str | None = None
    aggs: Annotated[int, Field(ge=1)] | None = None
    trunk: Annotated[int, Field(ge=1)] | None = None
    cores: Annotated[int, Field(ge=0)] | None = None

    def parameters(self) -> dict[str, Any]:
        """Keyword arguments of the generator, in its units."""
        given = {
            "dims": self.dims,
            "lanes": self.lanes,
            "lane_rate_bps": _scaled(self.lane_rate_gbps, 10**9),
            "delay_ps": _scaled(self.delay_ns, 1000),
            "planes": self.planes,
            "spares": self.spares,
            "cpus": self.cpus,
            "hrs_per_lrs": self.hrs_per_lrs,
            "hrs": self.hrs,
            "lrs": self.lrs,
            "board_lanes": self.board_lanes,
            "host_lanes": self.host_lanes,
            "uplink_lanes": self.uplink_lanes,
            "rack_delay_ps": _scaled(self.rack_delay_ns, 1000),
            "hrs_delay_ps": _scaled(self.hrs_delay_ns, 1000),
            "domains": self.domains,
            "hb_size": self.hb_size,
            "inside": self.inside,
            "radix": self.radix,
            "uplinks": self.uplinks,
            "spines": self.spines,
            "hb_rate_bps": _scaled(self.hb_gbps, 10**9),
            "nic_rate_bps": _scaled(self.nic_gbps, 10**9),
            "hb_delay_ps": _scaled(self.hb_delay_ns, 1000),
            "nic_delay_ps": _scaled(self.nic_delay_ns, 1000),
            "spine_delay_ps": _scaled(self.spine_delay_ns, 1000),
            "spare_domains": self.spare_domains,
            "spare_rails": self.spare_rails,
            "optical": self.optical,
            "reconfiguration_ps": _scaled(self.reconfiguration_us, 10**6),
            "pods": self.pods,
            "leaves": self.leaves,
            "accelerators": self.accelerators,
            "tau": self.tau,
            "ports": self.ports,
            "wiring": self.wiring,
            "core_delay_ps": _scaled(self.core_delay_ns, 1000),
            "segments": self.segments,
            "hosts": self.hosts,
            "rails": self.rails,
            "backup": self.backup,
            "tors": self.tors,
            "aggs": self.aggs,
            "trunk": self.trunk,
            "cores": self.cores,
        }
        return {name: value for name, value in given.items() if value is not None}


def _scaled(value: float | None, factor: int) -> int | None:
    return None if value is None else round(value * factor)
