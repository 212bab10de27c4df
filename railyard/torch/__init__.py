# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a fabric: the backend `railyard` of `torch.distributed`, in virtual time.

`import railyard.torch` registers the backend. PyTorch also registers it as it loads, by the entry point
`torch.backends`.
`railyard torchrun FABRIC SCRIPT` starts the processes; docs/use/pytorch.md is the guide.

    clock        the clock of a rank: counted operations, declared or measured time
    process      the connection of a rank's process with the fabric
    store        the store of `init_process_group`, kept by the fabric's process
    elements     tensors as bytes for the wire, and back
    work         a collective under way
    backend      the process group
    worker       the processes of ranks: started, one forked for each rank
    launch       the fabric and the processes together: `railyard torchrun`
    timeline     steps, shares of time and the trace of a run

`compute(us=...)` advances the clock of the calling rank, `now()` returns it in microseconds, `note(loss=...)`
adds values to the last training step for the report.
"""

from __future__ import annotations

import sys

from railyard.torch.process import current

__all__ = ["compute", "note", "now", "register"]


def compute(*, us: float) -> None:
    """Advance the rank's clock by declared microseconds of computation."""
    current().clock.add_ps(round(us * 10**6))


def now() -> float:
    """Return the rank's virtual time in microseconds."""
    return current().clock.now_ps() / 10**6


def note(**values: float) -> None:
    """Add values such as `loss` to the rank's last step, which ended with a step of an optimizer."""
    current().note("values", values)


def register() -> None:
    """Register the backend `railyard`; a second call does nothing."""
    from railyard.torch.backend import register_backend

    register_backend()


if "torch" in sys.modules:
    register()
