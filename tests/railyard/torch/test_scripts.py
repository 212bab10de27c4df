# SPDX-License-Identifier: Apache-2.0
"""FSDP2, tensor parallelism, pipelining, a mixture of experts: losses as with Gloo, and with a link cut."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

from tests.railyard.torch.starting import SCRIPTS, gloo, losses, scenario, torchrun

NAMES = ("fsdp", "tensor_parallel", "pipeline", "experts")


@pytest.mark.parametrize("name", NAMES)
def test_the_losses_are_those_of_gloo(tmp_path, name):
    script = SCRIPTS / f"{name}.py"
    ours = losses(torchrun("--dims", 4, "--out", tmp_path, "full-mesh", script, "railyard").stdout)
    theirs = losses(gloo(script, 4, "gloo"))
    assert len(ours) == 3
    # Sums of float32 differ by the order of their terms.
    assert [float.fromhex(loss) for loss in ours] == pytest.approx(
        [float.fromhex(loss) for loss in theirs], rel=1e-5
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_link_that_is_cut_changes_no_loss(tmp_path, name):
    runs = {}
    for kind, faults in (("healthy", []), ("cut", [{"link": "npu0-npu1", "at_us": 20}])):
        file = scenario(tmp_path, faults, kind)
        ended = torchrun("--tflops", 1, "--out", tmp_path / kind, file, SCRIPTS / f"{name}.py", "railyard")
        runs[kind] = losses(ended.stdout)
    assert runs["cut"] == runs["healthy"] != []
