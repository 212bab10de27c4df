# SPDX-License-Identifier: Apache-2.0
"""railyard dissector: a Wireshark dissector of the link headers."""

from __future__ import annotations

from typing import Annotated

import typer

from railyard.cli.options import Dims, Parameters

__all__ = ["EXAMPLES", "dissector"]

EXAMPLES = """
railyard dissector > railyard.lua
railyard dissector full-mesh --dims 4x4 > railyard.lua
tshark -X lua_script:railyard.lua -r hops.pcapng
"""


def dissector(
    topology: Annotated[
        str, typer.Argument(help="topology whose node names are shown beside addresses")
    ] = "",
    dims: Dims = "",
    param: Parameters = None,
) -> None:
    """Print a Wireshark dissector, in Lua, for the headers that links carry."""
    from emulation.traffic.frames.dissector import dissector as lua
    from railyard.cli.options import fabric_of

    nodes = fabric_of(topology, dims, param or ()).nodes if topology else ()
    print(lua({node.address: node.name for node in nodes}), end="")
