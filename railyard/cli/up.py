# SPDX-License-Identifier: Apache-2.0
"""railyard up: a fabric that stays, for any P4Runtime client, and for people."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.columns import Columns

from railyard.cli.options import Bed, Switch
from railyard.cli.screen import out

if TYPE_CHECKING:
    from controller.plan import Plan
    from emulation.mininet.testbed import MininetTestbed

__all__ = ["up"]


def up(
    topology: Annotated[str, typer.Argument(help="name of a topology, see `railyard list`")],
    testbed: Annotated[
        Bed,
        typer.Option(help="embedded: in this process, no root; mininet: in namespaces, as root"),
    ] = Bed.embedded,
    switch: Annotated[
        Switch | None, typer.Option(help="what carries frames on mininet; unless given, bmv2 if installed")
    ] = None,
    grpc: Annotated[
        str, typer.Option(help="HOST:PORT of the P4Runtime server on embedded; unless given, 127.0.0.1:9559")
    ] = "",
    dims: Annotated[str, typer.Option(help="nodes in each dimension, as 4x4")] = "",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="a parameter of the topology; repeat it")
    ] = None,
) -> None:
    """Start a fabric, fill its tables and keep it until Ctrl-C.

    On mininet a terminal gets Mininet's own command line, in which every NPU is a host and sw_NPU its switch:

        npu0 ip link

        sw_npu0 tcpdump -i npu0-1

        link npu0 npu1 down

    The fabric's controllers stay at work: they route around links that go down.
    """
    from controller.planner import make_plan
    from railyard.cli.topology import fabric_of

    fabric = fabric_of(topology, dims, param or ())
    if testbed is Bed.mininet:
        from emulation.mininet.switches import choose
        from emulation.mininet.testbed import MininetTestbed

        if grpc:
            raise typer.BadParameter("on mininet every switch has an address of its own", param_hint="--grpc")
        kind = choose(switch.value if switch else None)
        _keep_mininet(MininetTestbed(fabric, switch=kind), make_plan(fabric))
        return
    if switch is not None:
        raise typer.BadParameter("is for --testbed mininet", param_hint="--switch")
    _keep_embedded(make_plan(fabric), grpc or "127.0.0.1:9559")


def _keep_embedded(plan: Plan, grpc: str) -> None:
    import threading

    from emulation.embedded.testbed import EmbeddedTestbed
    from lab.run.boot import booted

    testbed = EmbeddedTestbed(plan.fabric, grpc_address=grpc)
    with suppress(KeyboardInterrupt), booted(testbed, plan) as running:
        # Leave the switches to whoever comes: with the controller gone, any election id may become primary.
        running.client.close()
        console = out()
        console.print(
            f"{plan.fabric.name}: {len(plan.fabric.nodes)} switches, {running.entries} table entries"
        )
        console.print(f"P4Runtime: {testbed.address}", markup=False)
        console.print("device ids:")
        console.print(
            Columns([f"{name} {device}" for name, device in testbed.device_ids.items()], equal=True)
        )
        console.print("Ctrl-C ends it")
        testbed.serve(threading.Event())


def _keep_mininet(testbed: MininetTestbed, plan: Plan) -> None:
    import threading

    from emulation.control.loop import ControlLoop
    from emulation.mininet.net import command_line
    from lab.run.boot import booted

    stopped = threading.Event()
    with suppress(KeyboardInterrupt), booted(testbed, plan) as running:
        ControlLoop(testbed, running.client, plan, mode="direct", detect_ps=0, processing_ps=0)
        console = out()
        console.print(
            f"{plan.fabric.name}: {len(plan.fabric.nodes)} switches ({testbed.switch}), "
            f"{running.entries} table entries"
        )
        for role, namespace in testbed.places().items():
            console.print(f"{role}: {namespace}", markup=False, soft_wrap=True)
        if not sys.stdin.isatty():
            console.print("Ctrl-C ends it")
            testbed.serve(stopped)
            return
        serving = threading.Thread(target=testbed.serve, args=(stopped,))
        serving.start()
        try:
            command_line(testbed.net)
        finally:
            stopped.set()
            serving.join()
