# SPDX-License-Identifier: Apache-2.0
"""Small HPN fabrics under an AllReduce, packet by packet."""

from __future__ import annotations

from collections.abc import Callable

from emulation.testbed import Testbed
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from papers.claims.runs import ran, right

_SCENARIO = """
{topology}
collective:
  {{kind: allreduce, algorithm: dimension-wise, elements: {elements}, dtype: int32, payload_bytes: 4096}}
routing: {{peers: job, strategy: hashed}}
link: {{detect_us: 1}}
control: {{processing_us: 1, lacp_us: 5}}
transport: {{window: 64, initial_rto_us: 20, min_rto_us: 10}}
{more}
"""


def small(
    topology: str, more: str = "", elements: int = 65536, look: Callable[[Testbed], None] | None = None
) -> tuple[Prepared, Observation]:
    """Run an AllReduce on a small fabric; return the prepared run and its observation.

    Args:
        topology: first lines of the scenario.
        more: further lines of the scenario, such as jobs and faults.
        elements: elements of the AllReduce.
        look: function to call before virtual time starts.

    Raises:
        RailyardError: An array is wrong at the end.
    """
    text = _SCENARIO.format(topology=topology, more=more, elements=elements)
    ((ready, seen),) = ran(text, look=look).values()
    return ready, right(ready, seen)
