# SPDX-License-Identifier: Apache-2.0
"""The command line of railyard-switchd: that of simple_switch_grpc, and `--switch` for several switches."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import final

from emulation.errors import EmulationError

__all__ = ["Options", "SwitchOptions", "parse"]

# Version of the program files that p4c writes and the engine reads, in BMv2's numbering.
_JSON_VERSION = "2.23"
_MOST_PORT = 511
_DROP_PORT = 511
_MOST_QUEUES = 8
_LEVELS = ("trace", "debug", "info", "warn", "error", "off")

# BMv2's options that have no effect, each with the reason.
_UNUSED = {
    "thrift_port": "there is no Thrift server, tables are written by P4Runtime",
    "nanolog": "there is no nanomsg log",
    "notifications_addr": "digests and idle timeouts go by P4Runtime",
    "debugger": "there is no nanomsg debugger",
    "debugger_addr": "there is no nanomsg debugger",
    "log_flush": "every line is flushed",
    "grpc_server_cacert": "the server has no TLS",
    "grpc_server_cert": "the server has no TLS",
    "grpc_server_key": "the server has no TLS",
    "max_port_count": "there is no bound",
    "max_mc_groups": "there is no bound",
    "max_l1_entries": "there is no bound",
    "max_l2_entries": "there is no bound",
    "disable_swap": "a pipeline is always exchanged at once",
}

# BMv2's options that are refused, each with a remedy.
_REFUSED = {
    "use_files": "send the frames on a veth pair, and read what --pcap records",
    "packet_in": "attach interfaces with -i",
    "restore_state": "write the state by P4Runtime",
    "dp_grpc_server_addr": "attach interfaces with -i",
    "grpc_server_ssl": "bind --grpc-server-addr to 127.0.0.1 or unix:PATH and reach it through a tunnel",
    "grpc_server_with_client_auth": "bind --grpc-server-addr to 127.0.0.1 or unix:PATH",
}

_EXAMPLES = """\
examples:
  a switch on two interfaces, to which a controller pushes a program:
    railyard-switchd --device-id 1 -i 1@veth0 -i 2@veth2 --no-p4 \\
        -- --grpc-server-addr 127.0.0.1:9559
  with a program from the start, packet-in and packet-out on port 510, and a
  capture of every frame:
    railyard-switchd --device-id 1 -i 1@veth0 -i 2@veth2 --pcap /tmp \\
        build/basic.json -- --cpu-port 510
  two switches in one process, with device ids 1 and 2:
    railyard-switchd --switch 1:1@a0,2@a1 --switch 2:1@b0,2@b1 --no-p4

The process needs the right to open raw sockets (root, or CAP_NET_RAW and
CAP_NET_ADMIN). It prints "Server listening on ADDRESS" when it forwards frames,
and ends on Ctrl-C or SIGTERM with exit code 0. Exit code 2: it could not start.
railyard-switchd-grpc is the same program, for scripts that look for "grpc" in
the name of the switch.
"""


@final
@dataclass(frozen=True, slots=True)
class SwitchOptions:
    """One switch: its P4Runtime device id, and (port number, interface) pairs.

    `rates` are (port number, bit/s) pairs for the ports that send at a limited rate.
    """

    device_id: int
    ports: tuple[tuple[int, str], ...]
    rates: tuple[tuple[int, float], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Options:
    """A checked command line. `cpu_port` None: no packet-in and no packet-out."""

    switches: tuple[SwitchOptions, ...]
    program: Path | None
    grpc_address: str
    cpu_port: int | None
    queues: int
    queue_depth: int | None
    pcap: Path | None
    dump_bytes: int
    log_level: str
    log_console: bool
    log_file: Path | None
    log_file_bytes: int
    log_files: int
    notes: tuple[str, ...]


def parse(arguments: Sequence[str]) -> Options:
    """Check a command line; EmulationError names a bad option. Exits for --help and unknown options."""
    # BMv2 takes some options only behind `--`; here the position of an option does not matter.
    given = _parser().parse_args([argument for argument in arguments if argument != "--"])
    for name, remedy in _REFUSED.items():
        if getattr(given, name):
            raise EmulationError(f"{_option(name)} is not supported", remedy=remedy)
    if given.drop_port != _DROP_PORT:
        raise EmulationError(f"--drop-port {given.drop_port} is not supported", remedy="leave it at 511")
    if given.log_console and given.log_file:
        raise EmulationError("--log-console and --log-file exclude each other", remedy="give one of them")
    if given.cpu_port is not None and not 0 < given.cpu_port < _DROP_PORT:
        raise EmulationError(
            f"--cpu-port {given.cpu_port} is not between 1 and 510",
            remedy="give a port from 1 to 510, usually 510",
        )
    if not 1 <= given.priority_queues <= _MOST_QUEUES:
        raise EmulationError(
            f"--priority-queues {given.priority_queues} is not between 1 and {_MOST_QUEUES}",
            remedy=f"give 1 to {_MOST_QUEUES}: a frame's standard_metadata.priority has 3 bits",
        )
    if given.queue_depth is not None and given.queue_depth < 1:
        raise EmulationError(
            f"--queue-depth {given.queue_depth} is below 1", remedy="give 1 or more; 64 or more is usual"
        )
    if given.pcap is not None and not given.pcap.is_dir():
        raise EmulationError(f"the directory of --pcap {given.pcap} does not exist", remedy="make it first")
    notes = [f"{_option(name)} is not used: {why}" for name, why in _UNUSED.items() if getattr(given, name)]
    return Options(
        switches=_with_rates(_switches(given), given.rate),
        program=_program(given, notes),
        grpc_address=given.grpc_server_addr,
        cpu_port=given.cpu_port,
        queues=given.priority_queues,
        queue_depth=given.queue_depth,
        pcap=given.pcap,
        dump_bytes=given.dump_packet_data,
        log_level=given.log_level,
        log_console=given.log_console,
        log_file=given.log_file,
        log_file_bytes=given.log_file_max_size,
        log_files=given.log_file_max_files,
        notes=tuple(notes),
    )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _program(given: argparse.Namespace, notes: list[str]) -> Path | None:
    if given.no_p4:
        if given.program is not None:
            notes.append(f"{given.program} is not read: --no-p4 was given")
        return None
    if given.program is None:
        raise EmulationError("no program is given", remedy="give the JSON that p4c-bm2-ss wrote, or --no-p4")
    return given.program


def _switches(given: argparse.Namespace) -> tuple[SwitchOptions, ...]:
    if given.switch and (given.interface or given.device_id is not None):
        raise EmulationError(
            "--switch excludes -i and --device-id",
            remedy="give each switch as --switch ID:PORT@INTERFACE,...",
        )
    switches = (
        tuple(_switch(text) for text in given.switch)
        if given.switch
        else (SwitchOptions(given.device_id or 0, tuple(_port(text) for text in given.interface)),)
    )
    devices: set[int] = set()
    interfaces: dict[str, str] = {}
    for switch in switches:
        if switch.device_id in devices:
            raise EmulationError(
                f"device id {switch.device_id} is given twice", remedy="give each switch an id of its own"
            )
        devices.add(switch.device_id)
        ports: dict[int, str] = {}
        for port, interface in switch.ports:
            what = f"{port}@{interface}"
            if port in ports:
                raise EmulationError(
                    f"port {port} is given twice: {ports[port]} and {what}",
                    remedy="give each port of a switch once",
                )
            if interface in interfaces:
                raise EmulationError(
                    f"interface {interface} is given twice: {interfaces[interface]} and {what}",
                    remedy="give each interface once",
                )
            if port == given.cpu_port:
                raise EmulationError(f"{what}: {port} is the CPU port", remedy="choose another --cpu-port")
            ports[port] = interfaces[interface] = what
    return switches


def _with_rates(switches: Sequence[SwitchOptions], texts: Iterable[str]) -> tuple[SwitchOptions, ...]:
    """Return the switches with the rates of `--rate` options; EmulationError names a bad option."""
    known = {switch.device_id: switch for switch in switches}
    for text in texts:
        device, colon, ports = text.partition(":")
        switch = known.get(int(device)) if colon and device.isdigit() else None
        if switch is None:
            raise EmulationError(
                f"--rate {text!r} names no switch", remedy="write ID:PORT=BITS,PORT=BITS,..."
            )
        rates = tuple(_rate(part, switch) for part in ports.split(",") if part)
        known[switch.device_id] = replace(switch, rates=(*switch.rates, *rates))
    return tuple(known.values())


def _rate(text: str, switch: SwitchOptions) -> tuple[int, float]:
    port, _, rate = text.partition("=")
    try:
        number, bits = int(port), float(rate)
    except ValueError:
        number, bits = -1, 0.0
    if number not in dict(switch.ports) or not 0 < bits < float("inf"):
        raise EmulationError(
            f"--rate {switch.device_id}:{text} names no port of the switch, or no rate",
            remedy="write ID:PORT=BITS, with a port of the switch and its bits a second",
        )
    return number, bits


def _switch(text: str) -> SwitchOptions:
    device, colon, ports = text.partition(":")
    if not colon or not device.isdigit():
        raise EmulationError(
            f"--switch {text!r} is not a list of ports", remedy="write ID:PORT@INTERFACE,PORT@INTERFACE,..."
        )
    return SwitchOptions(int(device), tuple(_port(part) for part in ports.split(",") if part))


def _port(text: str) -> tuple[int, str]:
    number, at, interface = text.partition("@")
    if not at or not number.isdigit() or not interface:
        raise EmulationError(f"-i {text!r} is not a port", remedy="write PORT@INTERFACE, as -i 1@veth0")
    if int(number) >= _MOST_PORT:
        raise EmulationError(
            f"-i {text!r}: the port is not below 511",
            remedy="give 0 to 510; in v1model, port 511 drops frames",
        )
    return int(number), interface


def _version() -> str:
    try:
        return version("railyard")
    except PackageNotFoundError:
        return "from a source tree"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="railyard-switchd",
        description="A v1model switch on Linux interfaces, in real time, controlled by P4Runtime.\n"
        "It takes the command line of simple_switch_grpc.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("program", nargs="?", type=Path, metavar="JSON", help="program, as p4c-bm2-ss writes it")
    add("--no-p4", action="store_true", help="start without a program; a controller pushes one")
    add(
        *("-i", "--interface"),
        action="append",
        default=[],
        metavar="PORT@INTERFACE",
        help="attach an interface as this port; may be repeated",
    )
    add(
        "--device-id",
        type=int,
        metavar="ID",
        help="device id of P4Runtime (default 0, as in BMv2; many clients ask for 1)",
    )
    add(
        "--switch",
        action="append",
        default=[],
        metavar="ID:PORT@INTERFACE,...",
        help="a switch of this process, in place of -i and --device-id; may be repeated",
    )
    add("-v", "--version", action="version", version=f"railyard-switchd {_version()}")
    add(
        "--json-version",
        action="version",
        version=_JSON_VERSION,
        help="print the newest version of program files",
    )
    _add_server(parser)
    _add_logging(parser)
    _add_others(parser)
    return parser


def _add_server(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("P4Runtime and the program; in BMv2 these options follow --").add_argument
    add(
        "--grpc-server-addr",
        default="0.0.0.0:9559",
        metavar="ADDRESS",
        help="HOST:PORT or unix:PATH of the server (default 0.0.0.0:9559)",
    )
    add("--cpu-port", type=int, metavar="N", help="port of packet-in and packet-out (default: none)")
    add("--drop-port", type=int, default=_DROP_PORT, metavar="N", help="511 only")
    add(
        "--priority-queues",
        type=int,
        default=_MOST_QUEUES,
        metavar="N",
        help="queues of a port, by standard_metadata.priority, highest first (default 8)",
    )

    add(
        "--rate",
        action="append",
        default=[],
        metavar="ID:PORT=BITS,...",
        help="let frames leave these ports of a switch at so many bits a second; may be repeated",
    )
    add(
        "--queue-depth",
        type=int,
        metavar="N",
        help="hold up to N frames in each queue of a slow interface, so that programs read the depth of the "
        "queue; without this option the kernel holds 16 MiB of them, and the switch 64",
    )


def _add_logging(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "logs and captures; without these options, warnings on stderr"
    ).add_argument
    add("--log-console", action="store_true", help="log to stdout")
    add("--log-file", type=lambda name: Path(f"{name}.txt"), metavar="FILE", help="log to FILE.txt")
    add(
        "-L", "--log-level", choices=_LEVELS, default="info", help="least level that is logged (default info)"
    )
    add(
        "--log-file-max-size",
        type=int,
        default=5 << 20,
        metavar="BYTES",
        help="size at which a new file starts (default 5 MiB)",
    )
    add("--log-file-max-files", type=int, default=3, metavar="N", help="older files to keep (default 3)")
    add(
        "--pcap",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="DIRECTORY",
        help="record every frame in INTERFACE_in.pcap and INTERFACE_out.pcap in this folder (default: here)",
    )
    add("--dump-packet-data", type=int, default=0, metavar="BYTES", help="log this many bytes of every frame")


def _add_others(parser: argparse.ArgumentParser) -> None:
    """Add BMv2's options that have no effect, and those that `parse` refuses; both are hidden from --help."""
    flags = {"debugger", "log_flush", "disable_swap", "grpc_server_ssl", "grpc_server_with_client_auth"}
    for name in sorted(_UNUSED.keys() | _REFUSED.keys()):
        if name in flags:
            parser.add_argument(_option(name), action="store_true", help=argparse.SUPPRESS)
        else:
            parser.add_argument(_option(name), help=argparse.SUPPRESS)
