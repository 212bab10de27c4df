# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a fabric: the backend `railyard` of `torch.distributed`, in virtual time.

PyTorch registers the backend when it loads, by the entry point `torch.backends`; so does `import
railyard.torch`. `railyard torchrun FABRIC SCRIPT` starts the processes of ranks; docs/use/pytorch.md is the
guide.

    clock        the clock of a rank: counted operations, declared or measured time
    process      the connection of a rank's process with the fabric's process
    store        the store of `init_process_group`, kept by the fabric's process
    elements     conversion of tensors to bytes for the wire, and back
    sparse       sums of sparse tensors
    work         handles of operations in progress
    backend      the process group
    worker       the processes of ranks, forked from a process that has loaded PyTorch
    launch       starts the fabric and the processes of ranks, for `railyard torchrun`
    timeline     steps, shares of time and the trace of a run

In a script, `compute(us=...)` advances the clock of the calling rank, `now()` returns its time in
microseconds, and `note(loss=...)` adds values to the last training step for the report.
"""

from __future__ import annotations

import sys

from railyard.torch.process import current

__all__ = ["compute", "note", "now", "register"]


def compute(*, us: float) -> None:
    """Advance the clock of the calling rank by `us` microseconds, as if it computed."""
    current().clock.add_ps(round(us * 10**6))


def now() -> float:
    """Return the virtual time of the calling rank in microseconds."""
    return current().clock.now_ps() / 10**6


def note(**values: float) -> None:
    """Add values such as `loss` to the calling rank's last training step (ended by an optimizer step)."""
    current().note("values", values)


def register() -> None:
    """Register the backend `railyard` with PyTorch; a second call does nothing."""
    from railyard.torch.backend import register_backend

    register_backend()


if "torch" in sys.modules:
    register()
