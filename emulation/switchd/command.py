# SPDX-License-Identifier: Apache-2.0
"""railyard-switchd: the engine as a process on Linux interfaces, in real time.

A thread in C++ forwards frames. This module's thread passes events of the switches to the P4Runtime server,
whose own thread writes tables between frames.
"""

import errno
import logging
import logging.handlers
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

from emulation import _engine
from emulation.errors import EmulationError, ProgramError
from emulation.lifetime import Lifetime
from emulation.p4runtime import P4RuntimeServer
from emulation.switchd.options import Options, SwitchOptions, parse
from topologies.errors import RailyardError

__all__ = ["Switchd", "main"]

_log = logging.getLogger("railyard-switchd")
_LOGGERS = (_log, logging.getLogger("railyard.p4runtime"))

_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_ITEMS_AT_ONCE = 256
_MESSAGE_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
# Stands for "no CPU port": no frame has this port, as v1model's port numbers have 9 bits.
_NO_CPU_PORT = 0xFFFFFFFF


@final
class Switchd(Lifetime):
    """Switches whose ports are Linux interfaces, and their P4Runtime server; `address` is the server's."""

    def __init__(self, options: Options) -> None:
        if not hasattr(_engine, "Wire"):
            raise EmulationError(
                "the engine was built without its Linux part, which sends and receives on interfaces",
                remedy="build it on Linux, without -DRAILYARD_LINUX=OFF",
            )
        self._options = options
        self._wire = _engine.Wire()
        self._switches: dict[int, int] = {}  # device id to the engine's number
        self._devices: list[int] = []  # device ids by the engine's number
        self._server: P4RuntimeServer | None = None
        self.address = ""

    def start(self) -> None:
        """Load the program, attach every port and serve; EmulationError if a step fails."""
        options, wire = self._options, self._wire
        program = None if options.program is None else _read_program(options.program)
        _check_interfaces(options.switches)
        wire.set_queues(options.queues)
        if options.queue_depth is not None:
            wire.hold(options.queue_depth)
        if _log.isEnabledFor(logging.INFO):
            wire.log_programs()
            wire.dump(options.dump_bytes)
        if options.pcap is not None:
            wire.record(str(options.pcap))
        for settings in options.switches:
            switch = wire.add_switch(f"device {settings.device_id}", options.cpu_port or _NO_CPU_PORT)
            self._switches[settings.device_id] = switch
            self._devices.append(settings.device_id)
            for port, interface in settings.ports:
                wire.add_port(switch, port, interface)
                _log.info("device %d: adding interface %s as port %d", settings.device_id, interface, port)
            for port, rate in settings.rates:
                wire.set_rate(switch, port, rate)
            if program is not None:
                wire.set_program(switch, program)
        server = P4RuntimeServer(wire, self._switches, options.grpc_address, lock=threading.RLock())
        try:
            wire.start()
        except OSError as error:
            raise EmulationError(error.strerror or str(error), remedy=_remedy(error)) from error
        try:
            self.address = server.start()
        except EmulationError:
            wire.stop()
            raise
        self._server = server

    def serve(self, stopped: socket.socket) -> None:
        """Pass events of the switches on until `stopped` is readable; then stop forwarding frames."""
        events = self._wire.event_fd
        with selectors.DefaultSelector() as selector:
            selector.register(stopped, selectors.EVENT_READ)
            selector.register(events, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if stopped.fileno() in ready:
                    self._wire.stop()
                    return
                if events in ready:
                    os.eventfd_read(events)
                    self._pass_on()

    def _pass_on(self) -> None:
        for _ in range(_ITEMS_AT_ONCE):
            if (item := self._wire.take_control()) is None:
                break
            self._dispatch(item)
        else:
            os.eventfd_write(self._wire.event_fd, 1)  # come back for more events, after a check of `stopped`
        for level, text in self._wire.take_messages():
            _log.log(_MESSAGE_LEVELS[level], "%s", text)

    def _dispatch(self, item: tuple[str, int, int, int, bool, bytes]) -> None:
        kind, _, switch, value, up, _ = item
        if kind == "port":
            level, state = (logging.INFO, "up") if up else (logging.WARNING, "down")
            _log.log(level, "device %d: port %d is %s", self._devices[switch], value, state)
        if self._server is not None:
            self._server.deliver(item)

    def stop(self) -> None:
        """Stop the server and release the interfaces; does nothing if nothing runs."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        self._wire.stop()
        for level, text in self._wire.take_messages():
            _log.log(_MESSAGE_LEVELS[level], "%s", text)

    def usage(self) -> Mapping[tuple[int, int], Mapping[str, int]]:
        """Return the counters of each port by (device id, port): frames, bytes, frames dropped by cause."""
        return {
            (settings.device_id, port): self._wire.stats(self._switches[settings.device_id], port)
            for settings in self._options.switches
            for port, _ in settings.ports
        }


def _read_program(path: Path) -> _engine.Program:
    remedy = "give the JSON that p4c-bm2-ss writes for v1model"
    try:
        return _engine.Program(path.read_bytes())
    except OSError as error:
        raise ProgramError(f"{path} cannot be read: {error.strerror}", remedy=remedy) from error
    except _engine.ProgramError as error:
        raise ProgramError(f"{path}: {error}", remedy=remedy) from error


def _check_interfaces(switches: Sequence[SwitchOptions]) -> None:
    present = {name for _, name in socket.if_nameindex()}
    for switch in switches:
        for port, interface in switch.ports:
            if interface not in present:
                raise EmulationError(
                    f"port {port}: there is no interface {interface}",
                    remedy="make it first, as `ip link add A type veth peer name B`; "
                    f"there are {', '.join(sorted(present))}",
                )


def _remedy(error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EACCES):
        return "run as root, or with CAP_NET_RAW and CAP_NET_ADMIN"
    if error.errno == errno.ENOMEM:
        return "attach fewer interfaces, or lower their MTU: each has a receive ring"
    return "look at the interface with `ip -details link show`"


def _set_up_logging(options: Options) -> None:
    handler: logging.Handler
    level = _LEVELS[options.log_level]
    if options.log_file is not None:
        try:
            handler = logging.handlers.RotatingFileHandler(
                options.log_file, maxBytes=options.log_file_bytes, backupCount=options.log_files
            )
        except OSError as error:
            raise EmulationError(
                f"--log-file {options.log_file} cannot be opened: {error.strerror}",
                remedy="name a file that can be written",
            ) from error
    elif options.log_console:
        handler = logging.StreamHandler(sys.stdout)
    else:
        handler = logging.StreamHandler(sys.stderr)
        level = max(level, logging.WARNING)
    handler.setFormatter(
        logging.Formatter("[%(asctime)s.%(msecs)03d] [%(levelname)s] %(message)s", "%H:%M:%S")
    )
    for logger in _LOGGERS:
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _stop_signals() -> socket.socket:
    """Return a socket that becomes readable on Ctrl-C and SIGTERM."""
    told, tells = socket.socketpair()
    tells.setblocking(False)
    signal.set_wakeup_fd(tells.detach())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until stopped, and return the exit code."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        _set_up_logging(options)
        for note in options.notes:
            _log.info("%s", note)
        stopped = _stop_signals()
        with Switchd(options) as switchd:
            # BMv2 prints this line, and scripts wait for it.
            print(f"Server listening on {switchd.address}", flush=True)
            switchd.serve(stopped)
            for (device, port), usage in switchd.usage().items():
                told = ", ".join(f"{name} {count}" for name, count in usage.items() if count)
                _log.info("device %d: port %d: %s", device, port, told or "no frame")
    except RailyardError as error:
        print(f"railyard-switchd: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
