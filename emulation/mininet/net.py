# SPDX-License-Identifier: Apache-2.0
"""The fabric as a Mininet network: hosts and switches with shells, and links to take down or up.

Mininet's own start, with a shell for each node and interfaces made one by one, takes minutes for a rack. Here
a shell starts with a node's first command, in an existing namespace, and the cross-connect makes the
interfaces. The machine's settings are not changed.
"""

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType
from typing import Any, final

from emulation.mininet.machine import load
from emulation.traffic.frames.ip import PREFIX_LENGTH
from topologies import HOST_PORT, Fabric, RailyardError

__all__ = ["Verb", "command_line", "in_namespace", "make_net"]

# Verbs of Mininet's command line, and commands on its hosts, that send IP packets.
_IP_VERBS = ("pingall", "pingpair", "pingallfull", "pingpairfull", "iperf", "iperfudp")
_IP_TOOLS = ("ping", "ping6", "arping", "iperf", "iperf3", "traceroute")


def in_namespace(namespace: str, command: Sequence[str]) -> list[str]:
    """Return the command line that runs `command` in a network namespace and with its view of /sys."""
    return ["ip", "netns", "exec", namespace, *command]


def make_net(
    fabric: Fabric,
    namespaces: Mapping[str, str],
    switch_namespace: str,
    interfaces: Mapping[tuple[str, int], str],
    environment: Mapping[str, str],
    set_link: Callable[[str, bool], None],
    addresses: Mapping[str, IPv4Address] = MappingProxyType({}),
) -> Any:
    """Return a `mininet.net.Mininet` of the fabric: hosts, their switches `sw_NODE`, links between switches.

    Args:
        fabric: the fabric.
        namespaces: namespace of each host, by node.
        switch_namespace: namespace of all switches.
        interfaces: interfaces of the switches, by node and port.
        environment: environment of the nodes' processes.
        set_link: called by Mininet's command `link A B up|down` with a link's name, and True for up.
        addresses: IPv4 addresses of hosts with an interface `ub0`, by node; the command line replaces a
            host's name by its address.
    """
    classes = _Classes(environment)
    net = classes.net(set_link)
    for node in fabric.nodes:
        switch = net.addSwitch(f"sw_{node.name}", classes.switch, namespace=switch_namespace)
        for port in node.ports:
            if (node.name, port.number) in interfaces:
                classes.interface(interfaces[node.name, port.number], switch, port.number)
        if node.name in namespaces:
            host = net.addHost(node.name, classes.host, namespace=namespaces[node.name])
            eth0 = classes.interface("eth0", host, 0)
            net.links.append(_Link("", eth0, switch.intfs[HOST_PORT]))
            if node.name in addresses:
                ub0 = classes.interface("ub0", host, 1)
                ub0.ip, ub0.prefixLen = str(addresses[node.name]), PREFIX_LENGTH
    for link in fabric.links:
        if not {f"sw_{end.node}" for end in (link.a, link.b)} <= net.nameToNode.keys():
            continue  # an end is on another machine
        ends = (net[f"sw_{end.node}"].intfs[end.port] for end in (link.a, link.b))
        net.links.append(_Link(link.name, *ends))
    net.built = True
    return net


@final
@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command line.

    `run` takes the text behind the verb and yields lines of answer; a RailyardError that it raises is shown.
    `complete` takes a line, and begin and end of the word to complete, and returns possible words.
    """

    run: Callable[[str], Iterable[str]]
    help: str
    complete: Callable[[str, int, int], list[str]]


def command_line(
    net: Any, instead: str, script: str | None = None, verbs: Mapping[str, Verb] = MappingProxyType({})
) -> None:
    """Run Mininet's command line until `exit`, or the commands of a file.

    Args:
        net: the network that `make_net` returned.
        instead: text that answers commands that need IP, if no host has an IP address.
        script: path of a file with commands; without it, commands come from standard input.
        verbs: further verbs by name, which replace Mininet's own.
    """
    log = load("mininet.log")
    log.setLogLevel("output")  # show the answers of commands, not Mininet's own log
    has_ip = any(host.IP() for host in net.hosts)

    class CommandLine(load("mininet.cli").CLI):
        """Mininet's command line with further verbs; without IP, it answers `instead` to commands for IP."""

        def default(self, line: str) -> None:
            node, *command = line.split()
            if not has_ip and node in self.mn and command and command[0] in _IP_TOOLS:
                log.output(f"{instead}\n")
            else:
                super().default(line)

        def completenames(self, text: str, *ignored: Any) -> list[str]:
            return [*super().completenames(text, *ignored), *self._nodes(text)]

        def completedefault(self, text: str, *_: Any) -> list[str]:
            return self._nodes(text)

        def _nodes(self, text: str) -> list[str]:
            return sorted(name for name in self.mn if name.startswith(text))

    def refuse(*_: object) -> None:
        log.output(f"{instead}\n")

    if not has_ip:
        for name in _IP_VERBS:
            setattr(CommandLine, f"do_{name}", refuse)
    for name, verb in verbs.items():
        setattr(CommandLine, f"do_{name}", _action(verb, log.output))
        setattr(CommandLine, f"complete_{name}", _completer(verb))
    if script is None:
        CommandLine(net)
    else:
        with Path(script).open(encoding="utf-8") as commands:
            CommandLine(net, stdin=commands, script=script)


def _action(verb: Verb, say: Callable[[str], None]) -> Callable[[Any, str], None]:
    def act(_: Any, line: str) -> None:
        try:
            for answer in verb.run(line):
                say(f"{answer}\n")
        except RailyardError as error:
            say(f"*** {error}\n")

    act.__doc__ = verb.help
    return act


def _completer(verb: Verb) -> Callable[[Any, str, str, int, int], list[str]]:
    return lambda _, text, line, begin, end: verb.complete(line, begin, end)


@final
class _Link:
    """A link as Mininet's commands `net`, `links` and `link` use it."""

    def __init__(self, name: str, intf1: Any, intf2: Any) -> None:
        self.name, self.intf1, self.intf2 = name, intf1, intf2
        intf1.link = intf2.link = self

    def __str__(self) -> str:
        return f"{self.intf1}<->{self.intf2}"

    def status(self) -> str:
        return f"({self.intf1.status()} {self.intf2.status()})"

    def stop(self) -> None:
        """Do nothing: the cross-connect removes the interfaces."""


@final
class _Classes:
    """Subclasses of Mininet's classes, defined once Mininet is loaded."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        node, link, network = load("mininet.node"), load("mininet.link"), load("mininet.net")

        class Shelled(node.Node):
            """A node whose shell starts with its first command."""

            def __init__(self, name: str, namespace: str, **params: Any) -> None:
                self.namespace = namespace
                self._wanted = False
                super().__init__(name, inNamespace=False, **params)

            def startShell(self, mnopts: str | None = None) -> None:
                if self._wanted:
                    super().startShell(mnopts)

            def _wake(self) -> None:
                if self.shell is None:
                    self._wanted = True
                    self.startShell()

            def cmd(self, *args: Any, **kwargs: Any) -> Any:
                self._wake()
                return super().cmd(*args, **kwargs)

            def sendCmd(self, *args: Any, **kwargs: Any) -> Any:
                self._wake()
                return super().sendCmd(*args, **kwargs)

            def popen(self, *args: Any, **kwargs: Any) -> Any:
                # _popen enters the namespace by name: there may be no shell yet for mnexec to join.
                return super().popen(*args, mncmd=["mnexec", "-d"], **kwargs)

            def _popen(self, cmd: Sequence[str], **params: Any) -> Any:
                env = {**environment, **params.pop("env", {})}
                return subprocess.Popen(in_namespace(self.namespace, cmd), env=env, **params)

            def stop(self, deleteIntfs: bool = False) -> None:
                self.terminate()

            def connected(self) -> bool:
                return True

            def defaultIntf(self) -> Any:
                # `ub0`, the interface with an address, comes before the other interfaces.
                return max(self.intfs.values(), key=lambda intf: intf.ip is not None, default=None)

        def ends_of(link: _Link) -> set[str]:
            return {intf.node.name.removeprefix("sw_") for intf in (link.intf1, link.intf2)}

        class Network(network.Mininet):
            """A network; its links go down at the cross-connect, never at the interface of a switch."""

            # Mark Mininet as initialised: otherwise it raises limits of the whole machine for good.
            inited = True

            def __init__(self, set_link: Callable[[str, bool], None]) -> None:
                super().__init__(controller=None, build=False)
                self._set_link = set_link

            def configLinkStatus(self, src: str, dst: str, status: str) -> None:
                ends = {src.removeprefix("sw_"), dst.removeprefix("sw_")}
                links = [link for link in self.links if link.name and ends_of(link) == ends]
                for link in links:
                    self._set_link(link.name, status == "up")
                if not links:
                    load("mininet.log").error(f"no link between {src} and {dst}\n")

            def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:
                return self._add(self.switches, cls(name, **params))

            def addHost(self, name: str, cls: Any = None, **params: Any) -> Any:
                return self._add(self.hosts, cls(name, **params))

            def _add(self, nodes: list[Any], node: Any) -> Any:
                nodes.append(node)
                self.nameToNode[node.name] = node
                return node

        self._interface, self._network = link.Intf, Network
        self.host = self.switch = Shelled

    def net(self, set_link: Callable[[str, bool], None]) -> Any:
        """Return an empty network."""
        return self._network(set_link)

    def interface(self, name: str, node: Any, port: int) -> Any:
        """Add an existing interface to a node, as its port number `port`; the interface is not changed."""
        return self._interface(name, node, port, up=None, moveIntfFn=lambda *_: None)
