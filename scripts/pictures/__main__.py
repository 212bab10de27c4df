# SPDX-License-Identifier: Apache-2.0
"""Write every picture into a folder: `python -m scripts.pictures [FOLDER] [NAME ...]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from scripts.pictures import (
    charts,
    collectives,
    discovery,
    fabrics,
    house,
    jobs,
    lessons,
    links,
    routes,
    switches,
    testbeds,
)

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

DRAWINGS: Mapping[str, Callable[[], str]] = {
    **{f"fabric-{name}": partial(fabrics.fabric, name) for name in fabrics.FABRICS},
    "circuits": fabrics.circuits,
    "frame": switches.frame,
    "pipeline": switches.pipeline,
    "hops": routes.hops,
    "shell": routes.shell,
    "spare": routes.spare,
    "paths": routes.paths,
    "scan": discovery.scan,
    "link-states": links.link_states,
    "link-timing": links.link_timing,
    "steps": collectives.steps,
    "idle-links": collectives.idle_links,
    "placement": collectives.placement,
    "iterations": jobs.iterations,
    "levels": jobs.levels,
    "circuit-change": lessons.circuit_change,
    "polarised-hash": lessons.polarised_hash,
    "cross-connect": testbeds.cross_connect,
    "switchd": testbeds.switchd,
    "pipelines": testbeds.pipelines,
    "virtual-machine": testbeds.virtual_machine,
    "lane-ratios": charts.lane_ratios,
    "traffic-graph": charts.traffic_graph,
    "limits": charts.limits,
    "capex": charts.capex,
    "ccu": charts.ccu,
    "every-path": partial(charts.completion, "19_every_path", "A pair, and a channel that swallows frames"),
    "lost-notices": partial(charts.completion, "20_lost_notices", "An AllReduce with a cut and lost notices"),
    "notification": partial(
        charts.completion, "43_notification", "An AllReduce, told of a cut in seven ways"
    ),
    "loss-recovery": partial(charts.completion, "33_loss_recovery", "An AllReduce with losses"),
    "detours": partial(charts.completion, "35_detours", "Shares that do not know the traffic"),
    "floors": house.floors,
    "scenario": house.scenario,
}


def drawings(names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of the named pictures, or of all."""
    for name in names or DRAWINGS:
        yield f"{name}.svg", DRAWINGS[name]()


def main() -> None:
    """Write the pictures into the folder of the first argument, or into docs/images."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for name, drawn in drawings(sys.argv[2:]):
        (folder / name).write_text(drawn, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
