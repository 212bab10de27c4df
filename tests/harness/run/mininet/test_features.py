# SPDX-License-Identifier: Apache-2.0
"""Every feature of a scenario on both testbeds: frames, data and order of events are the same.

As root, with `RAILYARD_WRITE_FEATURES=1` and `--long --bmv2`, this file writes the results and the table of
docs/testbeds/mininet.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from emulation.mininet.switches.processes import SwitchKind
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.features.compare import Run, compare
from tests.harness.run.mininet.features.table import FEATURES, Feature, in_docs, stored, table, write

reason = no_rights()
WRITES = "RAILYARD_WRITE_FEATURES" in os.environ


def observed(feature: Feature, folder: Path, choice: TestbedChoice) -> Run:
    ready = feature.prepare(folder)
    return Run.of(run([ready], 1, choice=choice).runs["run"].observation)


def counted(virtual: Run) -> dict[str, int]:
    """Return the counts of a run in virtual time as the table has them."""
    used = sum(any(frames) for frames in virtual.links.values())
    counts = {"frames": virtual.received, "links": used, "events": len(virtual.events)}
    return counts | ({"marked": virtual.marked} if virtual.marked else {})


@pytest.mark.skipif(bool(reason), reason=reason)
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "feature", [item for item in FEATURES if not item.refused], ids=lambda item: item.feature
)
def test_a_feature_is_the_same_on_both_testbeds(feature: Feature, kind: SwitchKind, tmp_path: Path) -> None:
    virtual = observed(feature, tmp_path, Embedded())
    real = observed(feature, tmp_path, RealTime(kind))
    compare(virtual, real, feature.same)
    counts = counted(virtual)
    if WRITES:
        write({feature.feature: {kind: counts}})
    assert stored()[feature.feature][kind] == counts


def test_the_table_in_the_guide_is_that_of_the_stored_results() -> None:
    assert in_docs() == table()
    assert "not run" not in table()


@pytest.mark.parametrize(
    "feature", [item for item in FEATURES if item.refused], ids=lambda item: item.feature
)
def test_the_words_of_a_refusal(feature: Feature, tmp_path: Path) -> None:
    with pytest.raises(TestbedError) as told:
        RealTime("builtin").check([feature.prepare(tmp_path)], captures=False)
    assert told.value.message == feature.refused


@pytest.mark.parametrize(
    "feature", [item for item in FEATURES if not item.refused], ids=lambda item: item.feature
)
def test_a_feature_runs_in_virtual_time(feature: Feature, tmp_path: Path) -> None:
    """The stored results are those of the scenarios as they are."""
    virtual = observed(feature, tmp_path, Embedded())
    counts = counted(virtual)
    for kind in ("builtin", "bmv2"):
        assert stored()[feature.feature][kind] == counts
    assert virtual.wrong == ""
