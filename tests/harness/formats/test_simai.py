# SPDX-License-Identifier: Apache-2.0
"""SimAI's workloads: groups of ranks, passes that wait or do not, parts of a workload, and a run of one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.errors import FormatError
from harness.formats.imported import Imported, Part
from harness.formats.registry import read_files
from railyard.cli import app
from tests.harness.formats.samples import MATRIX

HEAD = "HYBRID model_parallel_NPU_group: {tensor} ep: {expert} pp: {stages} all_gpus: {ranks}"
# Two layers: two AllReduces of tensors, an all-to-all of experts, a reduce-scatter of weights.
LAYERS = (
    "mlp -1 1000 ALLREDUCE 4096 200 NONE 0 30 REDUCESCATTER 65536 100",
    "moe -1 7 ALLTOALL_EP 8192 11 ALLREDUCE 4096 13 NONE 0 100",
)


def _file(folder: Path, tensor: int = 2, expert: int = 2, stages: int = 1, ranks: int = 8) -> Path:
    head = HEAD.format(tensor=tensor, expert=expert, stages=stages, ranks=ranks)
    path = folder / "workload.txt"
    path.write_text("\n".join([head, str(len(LAYERS)), *LAYERS]) + "\n")
    return path


def _read(path: Path, part: Part | None = None) -> Imported:
    return read_files("simai", [path]) if part is None else read_files("simai", [path], part)


def _bytes(imported: Imported) -> int:
    return sum(operation.size for operation in imported.graph.operations)


def _computed(imported: Imported, member: str) -> int:
    return sum(o.compute_ps for o in imported.graph.operations if o.member == member)


def test_ranks_share_the_collectives_of_their_groups(tmp_path: Path) -> None:
    graph = _read(_file(tmp_path)).graph
    pairs: dict[str, set[tuple[str, str]]] = {}
    for operation in graph.operations:
        if operation.kind == "send":
            group = operation.id.split(".")[2].rstrip("0123456789")
            pairs.setdefault(group, set()).add((operation.member, operation.peer))
    assert pairs["tp"] == {(f"npu{a}", f"npu{a ^ 1}") for a in range(8)}
    # Ranks of a tensor place, two data-parallel neighbours together: 0 and 2, 1 and 3, 4 and 6, 5 and 7.
    assert pairs["ep"] == {(f"npu{a}", f"npu{a ^ 2}") for a in range(8)}
    assert pairs["dp"] == {
        (f"npu{a}", f"npu{b}") for a in range(8) for b in range(8) if a != b and a % 2 == b % 2
    }


def test_computations_in_a_row_are_one(tmp_path: Path) -> None:
    imported = _read(_file(tmp_path))
    assert _computed(imported, "npu3") == (1000 + 200 + 30 + 7 + 11 + 13) * 1000
    assert [o.compute_ps for o in imported.graph.operations if o.member == "npu3" and o.compute_ps] == [
        1_000_000,  # mlp forward
        7_000,  # moe forward
        11_000,  # moe, gradients of the input
        243_000,  # moe, gradients of the weights; then both of mlp
    ]


def test_weights_are_not_waited_for(tmp_path: Path) -> None:
    layers = [*LAYERS, "last -1 1 NONE 0 1 NONE 0 5 ALLREDUCE 4096 100"]
    path = _file(tmp_path)
    path.write_text("\n".join([HEAD.format(tensor=2, expert=2, stages=1, ranks=8), "3", *layers]))
    operations = _read(path).graph.operations
    begun = next(o.id for o in operations if o.id.startswith("5.last.dp0@npu0"))
    followers = [o.id for o in operations if o.member == "npu0" and begun in o.after and o.kind == "compute"]
    assert sorted(followers) == ["5.last.dp0.end@npu0", "6.moe.tp0@npu0"]


def test_a_scale_keeps_the_ratio_of_bytes_and_times(tmp_path: Path) -> None:
    path = _file(tmp_path)
    whole, scaled = _read(path), _read(path, Part(scale=0.25))
    assert _bytes(scaled) == _bytes(whole) / 4
    assert _computed(scaled, "npu0") == _computed(whole, "npu0") / 4
    assert any("scaled by 0.25" in note for note in scaled.notes)
    assert not any("scaled by" in note for note in whole.notes)


def test_what_a_scale_leaves_is_an_element(tmp_path: Path) -> None:
    sends = [o for o in _read(_file(tmp_path), Part(scale=1e-9)).graph.operations if o.kind == "send"]
    assert {o.size for o in sends} == {4}


def test_fewer_layers_and_ranks(tmp_path: Path) -> None:
    path = _file(tmp_path, stages=2, ranks=32)
    fewer = _read(path, Part(layers=1, ranks=4))
    assert set(fewer.graph.members) == {"npu0", "npu1", "npu2", "npu3"}
    assert not any(o.id.partition(".")[2].startswith("moe") for o in fewer.graph.operations)
    assert "Only the first 1 of 2 layers are imported." in fewer.notes
    assert "4 of 32 ranks are imported: 2 of 8 data-parallel ranks, one of 2 pipeline stages." in fewer.notes


@pytest.mark.parametrize(
    ("ranks", "remedy"), [(6, "a multiple of 4 up to 16"), (32, "a multiple of 4 up to 16")]
)
def test_ranks_that_do_not_fit_the_groups(tmp_path: Path, ranks: int, remedy: str) -> None:
    with pytest.raises(FormatError, match=rf"workload\.txt:1: {ranks} ranks") as refused:
        _read(_file(tmp_path, stages=2, ranks=32), Part(ranks=ranks))
    assert remedy in str(refused.value)


def test_too_much_names_the_options(tmp_path: Path) -> None:
    path = _file(tmp_path, ranks=1 << 19)
    with pytest.raises(FormatError, match=r"--ranks 4.*--layers.*--scale"):
        _read(path)
    path.write_text(path.read_text().replace("65536", str(1 << 42)))
    with pytest.raises(FormatError, match=r"the arrays of all ranks take 16384 GiB"):
        _read(path, Part(ranks=4))
    assert _read(path, Part(ranks=4, scale=1e-6)).graph.operations


def test_other_formats_have_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "two.cm"
    path.write_text(MATRIX)
    with pytest.raises(FormatError, match=r"format htsim cannot be imported in part.*which only simai takes"):
        read_files("htsim", [path], Part(scale=0.5))


def test_a_scaled_workload_runs_and_its_data_are_right(tmp_path: Path) -> None:
    """Several collectives use the same places: each waits for the reads of the collective before it."""
    path = _file(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "8", *(line for line in LAYERS for _ in range(4))]))
    runner = CliRunner()
    done = runner.invoke(
        app, ["import", "simai", str(path), "--scale", "0.5", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    scenario = tmp_path / "out" / "scenario.yaml"
    assert "# Sizes of messages and durations of computations are scaled by 0.5" in scenario.read_text()
    ran = runner.invoke(app, ["run", str(scenario), "--out", str(tmp_path / "results"), "--no-report"])
    assert ran.exit_code == 0, ran.output
