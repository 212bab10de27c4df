# SPDX-License-Identifier: Apache-2.0
"""MSCCL's algorithms: steps become operations, and an algorithm that computes something else is refused."""

from pathlib import Path

import pytest

from emulation.traffic.frames.values import Combine
from harness.errors import FormatError
from harness.formats.imported import Imported
from harness.formats.registry import read_files
from tests.harness.formats.samples import ring


def _read(folder: Path, text: str) -> Imported:
    path = folder / "ring.xml"
    path.write_text(text)
    return read_files("msccl", [path])


@pytest.mark.parametrize("gpus", [3, 5])
def test_a_ring_is_an_allreduce(tmp_path: Path, gpus: int) -> None:
    imported = _read(tmp_path, ring(gpus))
    sends = [operation for operation in imported.graph.operations if operation.kind == "send"]
    assert len(sends) == 2 * gpus * (gpus - 1)
    assert "Every GPU ends with the result of allreduce." in imported.notes
    reduced = [o for o in imported.graph.operations if o.kind == "receive" and o.combine is Combine.REDUCE]
    assert len(reduced) == gpus * (gpus - 1)


def test_a_fused_send_waits_for_data_only(tmp_path: Path) -> None:
    operations = {operation.id: operation for operation in _read(tmp_path, ring()).graph.operations}
    assert operations["g0.t0.s2.send"].after == (), "it begins with the first elements that arrive"
    assert operations["g0.t0.s2"].after == ("g0.t0.s1.send",)


def test_an_allgather_in_place(tmp_path: Path) -> None:
    step = (
        '<step s="{}" type="{}" srcbuf="o" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1" depid="-1" deps="-1"/>'
    )
    gpus = [
        f'<gpu id="{gpu}" i_chunks="0" o_chunks="2" s_chunks="0">'
        f'<tb id="0" send="{1 - gpu}" recv="{1 - gpu}" chan="0">'
        + step.format(0, "s", gpu, gpu)
        + step.format(1, "r", 1 - gpu, 1 - gpu)
        + "</tb></gpu>"
        for gpu in range(2)
    ]
    text = '<algo name="pair" ngpus="2" coll="allgather" inplace="1">' + "".join(gpus) + "</algo>"
    assert "Every GPU ends with the result of allgather." in _read(tmp_path, text).notes


def test_nop_carries_a_dependency(tmp_path: Path) -> None:
    text = """<algo name="pair" ngpus="2" coll="custom">
      <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
        <tb id="0" send="1" recv="-1" chan="0">
          <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="1" deps="0"/>
          <step s="1" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="1" deps="1"/>
        </tb>
        <tb id="1" send="-1" recv="-1" chan="0">
          <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1"/>
          <step s="1" type="re" srcbuf="i" srcoff="1" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1"/>
        </tb>
      </gpu>
      <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
        <tb id="0" send="-1" recv="0" chan="0">
          <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1"/>
        </tb>
      </gpu></algo>"""
    imported = _read(tmp_path, text)
    operations = {operation.id: operation for operation in imported.graph.operations}
    assert operations["g0.t0.s1"].after == ("g0.t1.s0", "g0.t1.s1")
    assert operations["g0.t1.s1"].combine is Combine.REDUCE
    assert "The result is not checked: the collective 'custom' is unknown." in imported.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('s="2" type="rrcs"', 's="2" type="rcs"', "output chunk"),
        ('type="rrs"', 'type="add"', ":5: step type 'add'"),
        ('srcoff="2"', 'srcoff="3"', "chunks 3 to 3 of buffer i, which has 3"),
        ('send="1"', 'send="7"', ":3: the threadblock has peer 7, but there are only 3 GPUs"),
        ('send="1"', 'send="-1"', ":4: step type 's' needs a peer, but its threadblock has send=-1"),
        ('depid="-1" deps="-1"', 'depid="4" deps="0"', ":4: the step waits for step 0 of threadblock 4"),
        ('depid="-1" deps="-1"', 'depid="0" deps="3"', "step 0 of threadblock 0 on GPU 0 never begins"),
        ('s="1"', 's="3"', ":5: expected step 1 of the threadblock, got step 3"),
        ('<gpu id="1"', '<gpu id="0"', "gpu 0 appears twice"),
        ('<gpu id="2"', '<gpu id="5"', "the ids of 3 GPUs are not 0 to 2"),
        ("</algo>", "", "the file is no valid XML: no element found"),
        ("<algo", "<!DOCTYPE a [<!ENTITY b 'c'>]><algo", ":1: the file has a DOCTYPE, which is not allowed"),
        ("<tb", "<step/><tb", "<step> is not allowed inside <gpu>"),
        ('dstoff="2" cnt="1"', 'dstoff="2" cnt="2"', "chunks 2 to 3 of buffer i, which has 3"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = ring()
    assert old in text
    with pytest.raises(FormatError, match=r"ring\.xml") as caught:
        _read(tmp_path, text.replace(old, new, 1))
    assert message in str(caught.value)
