# SPDX-License-Identifier: Apache-2.0
"""railyard dissector: print a Wireshark dissector for the headers on links."""

from __future__ import annotations

from typing import Annotated

import typer

from railyard.cli.options import Dims, Parameters, fabric_of

__all__ = ["EXAMPLES", "dissector"]

EXAMPLES = """
railyard dissector > railyard.lua
railyard dissector full-mesh --dims 4x4 > railyard.lua
tshark -X lua_script:railyard.lua -r hops.pcapng
"""


def dissector(
    topology: Annotated[
        str, typer.Argument(help="topology whose node names the dissector shows beside addresses")
    ] = "",
    dims: Dims = "",
    param: Parameters = None,
) -> None:
    """Print a Wireshark dissector, in Lua, for the headers of frames on links."""
    from emulation.traffic.frames.dissector import dissector as lua

    nodes = fabric_of(topology, dims, param).nodes if topology else ()
    print(lua({node.address: node.name for node in nodes}), end="")
