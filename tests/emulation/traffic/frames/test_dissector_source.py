# SPDX-License-Identifier: Apache-2.0
"""The source of the Wireshark dissector, made from the Scapy layers; layouts that it refuses."""

import sys
from typing import Any

import pytest
from scapy.fields import BitField, ByteField, FieldListField
from scapy.packet import Packet

from emulation.errors import FrameError
from emulation.traffic.frames import dissector as module
from emulation.traffic.frames.dissector import dissector, headers
from railyard.cli import main
from topologies import full_mesh


class TestMaking:
    def test_the_verb_prints_it_with_the_names_of_a_topology(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        nodes = full_mesh((2, 2)).nodes
        for words, names in (
            ([], {}),
            (["full-mesh", "--dims", "2x2"], {node.address: node.name for node in nodes}),
        ):
            monkeypatch.setattr(sys, "argv", ["railyard", "dissector", *words])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code
            assert capsys.readouterr().out == dissector(names)

    def test_the_same_layers_make_the_same_source(self):
        assert dissector() == dissector()
        assert '[9] = "npu\\"9"' in dissector({9: 'npu"9'})

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ([BitField("wide", 0, 40)], "field wide: Lua cannot read 40 bits from bit 0 as a number"),
            ([BitField("odd", 0, 3)], "3 bits, which are not whole bytes"),
            ([FieldListField("list", None, ByteField("one", 0), count_from=lambda _: 3)], ""),
        ],
    )
    def test_a_layout_that_cannot_be_said_is_named(
        self, monkeypatch: pytest.MonkeyPatch, fields: list[Any], told: str
    ):
        layer = type(
            "Odd", (Packet,), {"name": "Odd", "fields_desc": fields, "__doc__": "Odd header, short."}
        )
        monkeypatch.setattr(module, "LPH", layer)
        if told:
            with pytest.raises(FrameError, match=told):
                headers()
        else:
            (header,) = headers()
            assert (header.title, header.bytes, header.fields[0].count) == ("Odd: Odd header", 3, 3)
