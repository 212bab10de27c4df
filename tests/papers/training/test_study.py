# SPDX-License-Identifier: Apache-2.0
"""Study files: what is wrong with them, what comes of them, and the verb that runs them."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.errors import ScenarioError
from papers.training.plot import plot_svg
from papers.training.study import READINGS, load, run, tokens_of

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

SMALL = """\
name: small
npus: 128
models: [llama2-70b]
spans: [{name: short, sequences: [8K, 16K]}]
baseline: clos
variants:
  - {name: clos, rack: clos, racks: clos}
  - {name: mesh}
paper:
  - {variant: mesh, percent: 95, span: short}
"""


def test_lengths():
    assert (tokens_of("8K"), tokens_of("10M")) == (8192, 10 * 2**20)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("npus: 128", "npus: 100", ":2: npus: 100 is not a power of two"),
        ("llama2-70b", "lama2-70b", "did you mean 'llama2-70b'?"),
        ("16K]", "16k]", "'16k' is not a length; write 8K, 256K or 10M"),
        ("16K]", "8K]", "sequence '8K' is listed twice"),
        ("baseline: clos", "baseline: close", ":5: baseline: no 'close' in this file; there are clos, mesh"),
        (
            "{name: mesh}",
            "{name: mesh, upling: 4}",
            "unknown key 'upling' in variants[1]; did you mean 'uplink'?",
        ),
        ("{name: mesh}", "{name: mesh, rack: 3d-fm}", "variants[1].rack: '3d-fm' is not known"),
        ("span: short", "span: long", ":10: span: no 'long' in this file"),
        ("span: short", "models: [moe-10t]", "'moe-10t' is not among the models of this file"),
        ("npus: 128", "nups: 128", "unknown key 'nups'; did you mean 'npus'?"),
    ],
)
def test_faults_are_named_with_their_line(write: Write, old: str, new: str, told: str):
    with pytest.raises(ScenarioError) as result:
        load(write(SMALL.replace(old, new)))
    assert told in str(result.value)


def test_every_variant_is_measured_against_the_baseline(write: Write):
    outcome = run(load(write(SMALL)))
    for reading in READINGS:
        assert outcome.percent(reading, "clos") == 100
        assert 50 < outcome.percent(reading, "mesh") < 100
    assert outcome.percent("borrowed", "mesh") > outcome.percent("apart", "mesh")
    (finding,) = outcome.findings
    assert finding.ours == {reading: outcome.percent(reading, "mesh") for reading in READINGS}


def test_the_same_study_is_drawn_in_the_same_bytes(write: Write):
    study = load(write(SMALL))
    assert plot_svg(run(study)) == plot_svg(run(study))


def test_the_verb_writes_and_prints(railyard: Railyard, write: Write, tmp_path: Path):
    code, out, _ = railyard("model", write(SMALL), "--out", tmp_path / "to", "--layouts", "mesh")
    assert code == 0, out
    assert "apart: uplinks carry only what leaves the rack" in out
    assert "TP" in out
    result = json.loads((tmp_path / "to" / "result.json").read_text())
    assert result["paper"][0]["percent"] == 95
    assert set(result["percent_of_baseline"]["apart"]["mesh"]["llama2-70b"]) == {"8K", "16K"}
    assert len(result["best"]) == 2 * 2 * 1 * 2
    root = ET.fromstring((tmp_path / "to" / "plot.svg").read_text())
    assert root.find("{*}rect[@class='sheet']") is not None  # a file of its own has a background


def test_a_bad_file_makes_exit_code_2(railyard: Railyard, write: Write, tmp_path: Path):
    code, _, err = railyard("model", write(SMALL + "more: 1\n"), "--out", tmp_path / "to")
    assert code == 2
    assert "unknown key 'more'" in err
    assert not (tmp_path / "to").exists()


def test_layouts_of_a_variant_that_is_not_there(railyard: Railyard, write: Write):
    code, _, err = railyard("model", write(SMALL), "--layouts", "mush")
    assert code == 2
    assert "'mush'" in err
    assert "choose among" in err
