# SPDX-License-Identifier: Apache-2.0
"""`railyard check` of several files; variants with equal figures share a line."""

from collections.abc import Callable
from pathlib import Path

Railyard = Callable[..., tuple[int, str, str]]

TEXT = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
variants:
  - {name: healthy}
  - {name: cut, faults: [{at_us: 0.05, link: npu0-npu1}]}
  - {name: large, collective: {elements: 4096}}
"""


def test_variants_with_the_same_figures_share_a_line(railyard: Railyard, tmp_path: Path):
    (tmp_path / "a.yaml").write_text(TEXT)
    code, out, _ = railyard("check", tmp_path / "a.yaml")
    assert code == 0
    heads = [line.partition(":")[0] for line in out.splitlines() if "table entries" in line]
    assert heads == ["healthy, cut", "large"]


def test_an_error_does_not_hide_the_files_after_it(railyard: Railyard, tmp_path: Path):
    for name, text in (("a", TEXT), ("b", TEXT.replace("npu0-npu1", "npu0-npu7")), ("c", TEXT)):
        (tmp_path / f"{name}.yaml").write_text(text)
    code, out, err = railyard("check", *(tmp_path / f"{name}.yaml" for name in "abc"))
    assert code == 2
    assert [line.rpartition("/")[2] for line in out.splitlines() if line.endswith(": good")] == [
        "a.yaml: good",
        "c.yaml: good",
    ]
    assert "b.yaml:6: fabric full-mesh-2x2: no link named 'npu0-npu7'" in err
    assert railyard("check", tmp_path / "a.yaml", tmp_path / "c.yaml")[0] == 0
