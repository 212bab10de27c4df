# SPDX-License-Identifier: Apache-2.0
"""16,384 GPUs on rails of two tiers: load of the switches, and what the run costs."""

from papers.checking.large_runs import frames_received, large_run, spread
from papers.claims import Progress, Values
from topologies import NodeKind


def rails(note: Progress) -> Values:
    """Return the figures of the run, and the frames of rail switches and spines as shares of the mean."""
    done = large_run(note, "29_rails_16384/scenario.yaml")
    frames = frames_received(done.fabric, done.observations["run"])
    loads = {
        kind: [frames[node.name] for node in done.fabric.nodes if node.kind is kind]
        for kind in (NodeKind.RAIL, NodeKind.SPINE)
    }
    return {
        **done.figures,
        **spread("rails", loads[NodeKind.RAIL]),
        **spread("spines", loads[NodeKind.SPINE]),
    }
