"""railyard up: a fabric that stays, for any P4Runtime client."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer
from rich.columns import Columns

from lab.cli.screen import out

__all__ = ["up"]


def up(
    topology: Annotated[str, typer.Argument(help="name of a topology, see `railyard list`")],
    grpc: Annotated[str, typer.Option(help="HOST:PORT of the P4Runtime server")] = "127.0.0.1:9559",
    dims: Annotated[str, typer.Option(help="nodes in each dimension, as 4x4")] = "",
) -> None:
    """Start a fabric, fill its tables and serve P4Runtime until Ctrl-C."""
    import threading

    from controller.planner import make_plan
    from emulation.embedded import EmbeddedTestbed
    from lab.boot import booted
    from lab.cli.topology import fabric_of

    fabric = fabric_of(topology, dims)
    plan = make_plan(fabric)
    testbed = EmbeddedTestbed(fabric, grpc_address=grpc)
    with suppress(KeyboardInterrupt), booted(testbed, plan) as running:
        # Leave the switches to whoever comes: with the controller gone, any election id may become primary.
        running.client.close()
        console = out()
        console.print(f"{fabric.name}: {len(fabric.nodes)} switches, {running.entries} table entries")
        console.print(f"P4Runtime: {testbed.address}", markup=False)
        console.print("device ids:")
        console.print(
            Columns([f"{name} {device}" for name, device in testbed.device_ids.items()], equal=True)
        )
        console.print("Ctrl-C ends it")
        testbed.serve(threading.Event())
