# SPDX-License-Identifier: Apache-2.0
"""railyard up: keep a fabric running for P4Runtime clients and for experiments by hand."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import say
from railyard.cli.options import (
    TOPOLOGY,
    Dims,
    MachinesFile,
    Parameters,
    SwitchOption,
    TestbedKind,
    fabric_of,
    need_testbed,
    page_server,
    refuse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from controller.plan.entry import Entry
    from controller.plan.plan import Plan
    from emulation.embedded.testbed import EmbeddedTestbed
    from harness.run.boot import Booted
    from topologies import Fabric

__all__ = ["EXAMPLES", "up"]

_GRPC = "127.0.0.1:9559"

EXAMPLES = """
railyard up ub-rack
railyard up full-mesh --dims 2x4 --grpc 127.0.0.1:9559
railyard up full-mesh --dims 2x4 --live
railyard up exercises/basic --p4 exercises/basic/solution/basic.p4
railyard up torus --dims 3x3 --p4 mine.json --p4info mine.p4info.txtpb --entries rows.json
sudo railyard up full-mesh --dims 2x4 --testbed mininet
A program of your own on every host, over IPv4 that crosses the switches as UB frames:
sudo railyard up full-mesh --dims 2x4 --testbed mininet --ip --launch "python3 allreduce.py"
On Mininet's command line every NPU is a host, and sw_NPU is its switch:
npu0 ip link
sw_npu0 tcpdump -i npu0-1
pingall
cut npu0 npu1
path npu0 npu5
"""


def up(
    topology: Annotated[str, TOPOLOGY],
    testbed: Annotated[
        TestbedKind,
        typer.Option(help="embedded: in this process, no root; mininet: in namespaces, needs root"),
    ] = TestbedKind.embedded,
    switch: SwitchOption = None,
    grpc: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help=f"address of the P4Runtime server on embedded; unless given, {_GRPC}"
        ),
    ] = "",
    dims: Dims = "",
    param: Parameters = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="strategy of the routes: `hashed` or `tables` if tables of switches shall steer frames, not "
            "source routes"
        ),
    ] = "all-path",
    p4: Annotated[
        Path | None,
        typer.Option(help="program of your own for all nodes: JSON from p4c, or a .p4 file; on embedded"),
    ] = None,
    p4info: Annotated[Path | None, typer.Option(help="p4info of the JSON of --p4, in text form")] = None,
    entries: Annotated[
        Path | None,
        typer.Option(
            help="table entries of your program: JSON, a WriteRequest in text form, or a folder of NODE.json"
        ),
    ] = None,
    controller: Annotated[
        bool, typer.Option(help="fill the tables, or leave them empty for your P4Runtime client")
    ] = True,
    tap: Annotated[
        bool, typer.Option("--tap", help="create a TAP device for each host port, in a namespace; needs root")
    ] = False,
    ip: Annotated[
        bool,
        typer.Option(
            "--ip", help="create an IPv4 interface ub0 on every host, for your programs; on mininet"
        ),
    ] = False,
    launch: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="with --ip: run this command on every host, then end; see docs/testbeds/ip.md",
        ),
    ] = "",
    machines: MachinesFile = None,
    live: Annotated[
        bool, typer.Option("--live", help="show the fabric in a browser; on embedded, see `railyard serve`")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port of --live; 0 takes any free port")] = 8642,
) -> None:
    """Start a fabric, fill its tables, and keep it running until Ctrl-C.

    On the embedded testbed, a single P4Runtime server serves all switches, each with its own device id, and
    any client may take control. With --p4, the switches run your program with your entries. Frames enter and
    leave at host ports, by `railyard send`, `railyard craft --grpc`, or interfaces with --tap.

    On mininet, controllers route around failed links, and the terminal shows Mininet's command line.
    """
    from controller.planner import make_plan

    if testbed is TestbedKind.embedded:
        on_hosts = {"--ip": ip, "--launch": launch, "--machines": machines}
        need_testbed(TestbedKind.mininet, {**on_hosts, "--switch": switch})
    if Path(topology).is_dir():
        if testbed is TestbedKind.mininet or entries is not None or p4info is not None:
            refuse(
                "TOPOLOGY",
                "an exercise runs on embedded with --p4 only; leave out --testbed, --entries and --p4info",
            )
        _keep_exercise(Path(topology), p4, grpc or _GRPC, tap=tap, live=port if live else None)
        return
    if testbed is TestbedKind.mininet:
        if grpc:
            refuse("--grpc", "on mininet every switch has an address of its own; leave --grpc out")
        if tap:
            refuse("--tap", "on mininet every host has an interface eth0; leave --tap out")
        own = {"--p4": p4, "--p4info": p4info, "--entries": entries, "--no-controller": not controller}
        need_testbed(TestbedKind.embedded, {"--live": live, **own})
        if launch and not ip:
            refuse("--launch", "the command needs IPv4 on the hosts; add --ip")
    fabric = fabric_of(topology, dims, param)
    plan = partial(make_plan, fabric, strategy=strategy)
    if p4 is not None or p4info is not None or entries is not None or not controller:
        if strategy != "all-path":
            refuse("--strategy", "no routes are planned for tables of your own; leave it out")
        if p4 is None and controller:
            refuse(
                "--p4info, --entries",
                "these options describe a program of your own; give the program with --p4",
            )
        _keep_own(fabric, p4, p4info, entries, grpc or _GRPC, tap=tap, live=port if live else None)
        return
    if testbed is TestbedKind.mininet:
        from emulation.mininet.ip.programs import check_command
        from emulation.mininet.switches.processes import choose
        from emulation.mininet.testbed import MininetTestbed
        from railyard.cli.fabrics.up_mininet import keep_mininet, launch_on_mininet

        words = check_command(launch) if launch else []
        if machines is not None:
            from emulation.mininet.cluster.machines import read_machines
            from emulation.mininet.cluster.testbed import MachinesTestbed
            from railyard.cli.fabrics.up_machines import keep_machines

            spread = read_machines(machines)
            kind = choose(switch.value if switch else None)
            keep_machines(MachinesTestbed(fabric, spread, switch=kind, ip=ip), plan(), words)
            return
        kind = choose(switch.value if switch else None)
        bed = MininetTestbed(fabric, switch=kind, ip=ip)
        if words:
            launch_on_mininet(bed, plan(), words)
        else:
            keep_mininet(bed, plan())
        return
    _keep_embedded(plan(), grpc or _GRPC, tap=tap, live=port if live else None)


def _keep_embedded(plan: Plan, grpc: str, *, tap: bool, live: int | None) -> None:
    from emulation.embedded.testbed import EmbeddedTestbed
    from harness.run.boot import booted

    testbed = EmbeddedTestbed(plan.fabric, grpc_address=grpc)
    with suppress(KeyboardInterrupt), booted(testbed, plan) as running:
        _serve(plan.fabric, testbed, running, tap=tap, live=live)


def _keep_own(
    fabric: Fabric,
    p4: Path | None,
    p4info: Path | None,
    entries: Path | None,
    grpc: str,
    *,
    tap: bool,
    live: int | None,
) -> None:
    """Keep a fabric running with the user's program on all nodes, or built-in programs with empty tables."""
    from emulation.embedded.testbed import EmbeddedTestbed
    from harness.run.boot import filled, programs_of
    from harness.run.programs.own_program import entries_for, own_program

    programs = programs_of(fabric)
    rows: Mapping[str, Sequence[Entry]] = dict.fromkeys(programs, ())
    if p4 is not None:
        files = own_program(p4, p4info)
        programs, rows = dict.fromkeys(programs, files), entries_for(fabric, files, entries)
    testbed = EmbeddedTestbed(fabric, grpc_address=grpc)
    with suppress(KeyboardInterrupt), filled(testbed, programs, rows) as running:
        _serve(fabric, testbed, running, tap=tap, live=live)


def _keep_exercise(folder: Path, p4: Path | None, grpc: str, *, tap: bool, live: int | None) -> None:
    """Keep an exercise of the P4 tutorials running; the commands of its hosts are printed, not run."""
    from emulation.embedded.testbed import EmbeddedTestbed
    from harness.formats.p4lang_exercise import read_exercise
    from harness.run.boot import filled

    exercise = read_exercise(folder, p4)
    for host, commands in exercise.commands.items():
        for command in commands:
            say(f"not run on {host}: {command}")
    testbed = EmbeddedTestbed(exercise.fabric, grpc_address=grpc)
    with suppress(KeyboardInterrupt), filled(testbed, exercise.programs, exercise.entries) as running:
        for node, entries in exercise.replication.items():
            if entries:
                running.client.replicate(node, entries)
        _serve(exercise.fabric, testbed, running, tap=tap, live=live)


def _serve(fabric: Fabric, testbed: EmbeddedTestbed, running: Booted, *, tap: bool, live: int | None) -> None:
    import threading

    # Without the controller's connection, a client may become primary with any election id.
    running.client.close()
    testbed.on_log = say
    say(*_welcome(fabric, testbed, running.entries))
    testbed.host_ports.open()
    with ExitStack() as stack:
        if tap:
            from emulation.embedded.taps import INTERFACE, taps

            for host, namespace in stack.enter_context(taps(testbed.host_ports)).items():
                say(f"{host}: {INTERFACE} in {namespace}")
        if live is not None:
            from railyard.web.standing import StandingFabric

            address = stack.enter_context(page_server()(StandingFabric(testbed).session, port=live))
            say(f"page: {address}")
        say("Ctrl-C ends it")
        testbed.serve(threading.Event())


def _welcome(fabric: Fabric, testbed: EmbeddedTestbed, entries: int) -> Iterator[str]:
    """Yield lines about access to an embedded fabric: P4Runtime address, device ids, host ports."""
    first, last = fabric.nodes[0], fabric.nodes[-1]
    yield f"{fabric.name}: {len(fabric.nodes)} switches, {entries} table entries"
    yield f"P4Runtime: {testbed.address}"
    ids = f"{first.device_id} ({first.name}) to {last.device_id} ({last.name})"
    yield f"Every device id answers at this address: {ids}."
    hosts = testbed.host_ports.names
    if hosts:
        yield f"`railyard send` reaches {len(hosts)} host ports, {hosts[0]} to {hosts[-1]}."
    yield f"`railyard show` of the same fabric with `--node {last.name}` prints the id of a node."
