# SPDX-License-Identifier: Apache-2.0
"""`railyard run --links`: the counters of links as CSV, as `Result.links` returns them."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import railyard

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

TEXT = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
link: {detect_us: 0.1}
variants: [{name: healthy}, {name: cut, faults: [{at_us: 0.05, link: npu0-npu1}]}]
"""


def test_each_variant_and_direction_has_a_row(railyard: Railyard, write: Write, tmp_path: Path):
    path, file = write(TEXT), tmp_path / "links.csv"
    assert railyard("run", path, "--links", file, "--quiet", "--no-report", "--out", tmp_path / "out")[0] == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == 2 * 2 * 4
    assert [*rows[0]][:6] == ["scenario", "seed", "variant", "link", "source", "destination"]
    lost = sum(
        int(row["lost_frames"]) + int(row["refused_frames"]) for row in rows if row["variant"] == "cut"
    )
    assert lost > 0


def test_the_values_are_those_of_python(railyard: Railyard, write: Write, tmp_path: Path):
    path = write(TEXT)
    code, out, _ = railyard("run", path, "--links", "-", "--no-report", "--out", tmp_path / "out")
    assert code == 0
    expected = [
        {"scenario": "small", "seed": "1", **{key: str(value) for key, value in record.items()}}
        for record in links_of(path)
    ]
    assert list(csv.DictReader(io.StringIO(out))) == expected


def links_of(path: Path) -> list[dict[str, object]]:
    return railyard.run(path).links()


def test_only_one_document_is_printed(railyard: Railyard, write: Write):
    code, _, err = railyard("run", write(TEXT), "--json", "-", "--links", "-")
    assert code == 2
    assert "--json - already writes to the standard output; give --links a file" in " ".join(
        err.replace("│", " ").split()
    )
