# SPDX-License-Identifier: Apache-2.0
"""Rail-only in closed form: Table II, collectives, iteration times."""

from dataclasses import replace

import pytest

from harness.errors import ModelError
from papers.rail_only import collectives, iteration
from papers.rail_only.collectives import A100, H100, Grid, Rates
from papers.rail_only.iteration import GPT_1T, GPT_146B, Cluster, best
from papers.rail_only.parts import any_to_any, rail_only
from papers.training.workload import Layout

# GPUs, radix: switches and transceivers, any-to-any and rail-only. Derived: the paper's counts were not seen.
COUNTS = {
    (32768, 64): (2560, 1536, 196608, 131072),
    (32768, 128): (1280, 256, 196608, 65536),
    (32768, 256): (384, 128, 131072, 65536),
    (65536, 64): (5120, 3072, 393216, 262144),
    (65536, 128): (2560, 1536, 393216, 262144),
    (65536, 256): (1280, 256, 393216, 131072),
}


# Table II


@pytest.mark.parametrize(("row", "counts"), COUNTS.items())
def test_the_counts_of_table_ii_are_exact(row: tuple[int, int], counts: tuple[int, ...]) -> None:
    base, ours = any_to_any(*row), rail_only(*row)
    assert (base.switches, ours.switches, base.transceivers, ours.transceivers) == counts


def test_rails_share_switches_that_have_room_for_several() -> None:
    assert rail_only(2048, 64, 256).switches == 256 // 8
    # A switch of 64 has room for two rails of 24, so four rails take two.
    assert rail_only(96, 64, 4).switches == 2


def test_gpus_that_do_not_fill_their_domains_are_refused() -> None:
    with pytest.raises(
        ModelError, match="1000 GPUs do not fill whole domains of 256; use a multiple of the domain"
    ):
        rail_only(1000, 64)


# Collectives


@pytest.mark.parametrize(
    ("grid", "rates", "share"),
    [
        (Grid(8, 4), A100, 4 * 7 / (8 * 3) / 12),
        (Grid(8, 16), A100, 0.0778),
        (Grid(256, 128), H100, 0.1116),
    ],
)
def test_all_to_all_is_slower_by_what_domains_take(grid: Grid, rates: Rates, share: float) -> None:
    assert collectives.slowdown(grid, rates) == pytest.approx(share, abs=1e-4)


def test_a_gather_is_what_nics_and_domains_take_one_after_the_other() -> None:
    rates = Rates(hb=80.0, nic=8.0)
    # 4 bytes a GPU: along a rail the other domain's 4, in the domain the 8 of the other rank.
    assert collectives.allgather(Grid(2, 2), 16, rates) == pytest.approx(4 * 8 / 8 + 8 * 8 / 80)
    assert collectives.allreduce(Grid(2, 2), 16, rates) == pytest.approx(2 * (4 + 0.8))
    assert collectives.allgather(Grid(1, 1), 16, rates) == 0


def test_one_network_alone() -> None:
    rates = Rates(hb=80.0, nic=8.0)
    assert collectives.alltoall_rail_optimised(Grid(4, 1), 10, rates) == pytest.approx(3)
    assert collectives.slowdown(Grid(4, 1), rates) == 0
    assert collectives.slowdown(Grid(1, 4), rates) == 0


def test_nics_send_a_share_of_a_hierarchical_allreduce() -> None:
    assert collectives.nic_share(Grid(32, 2)) == pytest.approx(1 / 63)
    assert collectives.nic_share(Grid(1, 2)) == 1


def test_nobody_gathers_nothing() -> None:
    with pytest.raises(ModelError, match="a group cannot have 0 GPUs in each of 2 domains"):
        Grid(0, 2)


# Iteration time


def test_parts_of_an_iteration_add_up_and_fit() -> None:
    result = best(GPT_1T, Cluster(), 4096)
    assert result.layout.npus == 32768
    assert result.seconds == pytest.approx(
        result.arithmetic + result.idle + result.tensor + result.handed + result.gradients
    )


def test_arithmetic_is_four_forward_passes() -> None:
    layout = Layout(tp=8, sp=1, pp=8, dp=64)
    item = iteration.iteration(GPT_146B, Cluster(gpus=4096), layout, 4096)
    flops = 4 * GPT_146B.flops(2048) * 2048 * 4096 * 80
    assert item.arithmetic == pytest.approx(flops / 4096 / (989e12 * 0.6))
    assert item.idle / (item.seconds - item.gradients - item.idle) == pytest.approx(7 / 64)


@pytest.mark.parametrize("model", [GPT_146B, GPT_1T], ids=lambda model: model.name)
def test_larger_domains_are_never_slower(model) -> None:
    took = [best(model, Cluster(domain=2**power), 4096).seconds for power in range(16)]
    assert took == sorted(took, reverse=True)


@pytest.mark.parametrize("domain", [1, 8, 256])
def test_faster_networks_are_never_slower(domain: int) -> None:
    base = Cluster(domain=domain)
    slow = best(GPT_146B, base, 4096).seconds
    for rates in (Rates(9600e9, 400e9), Rates(3600e9, 800e9)):
        assert best(GPT_146B, replace(base, rates=rates), 4096).seconds <= slow


def test_a_larger_batch_hides_the_network() -> None:
    def slower(batch: int) -> float:
        ideal = best(GPT_146B, Cluster(domain=1 << 20), batch).seconds
        return best(GPT_146B, Cluster(), batch).seconds / ideal

    assert slower(2048) > slower(4096) > slower(16384) > 1


def test_figures_of_the_paper_are_read_off_the_search():
    values = iteration.figures()
    took = {domain: best(GPT_1T, Cluster(domain=domain), 4096).seconds for domain in (8, iteration.IDEAL)}
    assert values["batch-8-4096"] == pytest.approx(100 * took[iteration.IDEAL] / took[8])
    # With NICs as fast as the domain its size means nothing.
    alike = iteration.figures(nic=9.0)
    assert alike["domains-8"] == pytest.approx(0, abs=1e-9)
    assert alike["large-ideal"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("changes", iteration.VARIANTS.values(), ids=iteration.VARIANTS)
def test_an_assumption_moves_the_figures(changes):
    assert iteration.figures(replace(Cluster(), **changes)) != iteration.figures()


@pytest.mark.parametrize(
    ("cluster", "batch", "message"),
    [
        (Cluster(domain=6), 4096, "a domain has 6 GPUs, which is not a power of two; use a power of two"),
        (Cluster(gpus=8), 8, "GPT-146B does not fit on 8 GPUs with a batch of 8"),
    ],
)
def test_what_cannot_be_is_refused(cluster: Cluster, batch: int, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        best(GPT_146B, cluster, batch)
