# SPDX-License-Identifier: Apache-2.0
"""2,048 GPUs on rails: data, and the time of the start."""

from papers.checking.large_runs import large_run
from papers.claims import Progress, Values


def rails(note: Progress) -> Values:
    """Return the figures of the run."""
    return large_run(note, "14_rails_2048/scenario.yaml").figures
