# SPDX-License-Identifier: Apache-2.0
"""Files with random damage give a value or an error that names the file, and never anything else."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.errors import FormatError
from lab.formats.registry import read_files
from tests.lab.formats.samples import FAULTS, GOAL, LINKS, MATRIX, NODES, TASKS, ring
from topologies.errors import TopologyError

_FILES = {"goal": GOAL, "htsim": MATRIX, "msccl": ring()}
_CASE = {"node": NODES, "topology": LINKS, "traffic": TASKS, "fault": FAULTS}
_WORDS = st.sampled_from(
    [b"", b"-1", b"999999999999", b"\xff", b"\0", b"..", b",", b"->", b"\n", b"<", b'"', b" 1 "]
)
_CUTS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 12), _WORDS), min_size=1, max_size=4)


def _damaged(text: str, cuts: list[tuple[int, int, bytes]]) -> bytes:
    data = text.encode()
    for place, length, word in cuts:
        at = place % (len(data) + 1)
        data = data[:at] + word + data[at + length :]
    return data


def _reads_or_refuses(name: str, path: Path) -> None:
    refusal = str(path)
    try:
        read_files(name, [path])
    except FormatError as ex:
        refusal = str(ex)
    except TopologyError:
        pass  # the fabric of a case is refused by the node or link at fault
    assert str(path) in refusal


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(_FILES)), cuts=_CUTS)
def test_damaged_files(name: str, cuts: list[tuple[int, int, bytes]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample"
        path.write_bytes(_damaged(_FILES[name], cuts))
        _reads_or_refuses(name, path)


@settings(max_examples=100, deadline=None)
@given(file=st.sampled_from(sorted(_CASE)), cuts=_CUTS)
def test_damaged_cases(file: str, cuts: list[tuple[int, int, bytes]]) -> None:
    with TemporaryDirectory() as folder:
        for name, text in _CASE.items():
            data = _damaged(text, cuts) if name == file else text.encode()
            (Path(folder) / f"{name}.csv").write_bytes(data)
        _reads_or_refuses("ns-3-ub", Path(folder))
