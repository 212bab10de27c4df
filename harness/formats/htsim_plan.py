# SPDX-License-Identifier: Apache-2.0
"""Importer of uet-htsim's experiment plans: connection matrices, each with options and target times of a run.

    connection_matrices/one.cm
    !Experiment Single Connection
    !Binary ./htsim_uec
    !Param -sender_cc_only
    !Param -end 1000
    !tailFCT 190

Paths are relative to the folder of the plan. Without `-topo` the hosts are joined by a fat tree of three
tiers. Defaults are those of the program `htsim_uec`: links of 100 Gbit/s and 1 us, packets of 4,150 bytes,
queues of one bandwidth-delay product, ECN marks from one fifth to four fifths of a queue.
"""

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from emulation.traffic.host.transport import MAX_WINDOW
from harness.formats.htsim_traffic import read_matrix
from harness.formats.imported import Imported
from harness.formats.text import FileLocation, lines_of, open_file

__all__ = ["is_plan", "read_plan"]

_HEAD_BYTES = 4096
_HEADERS = 64  # Bytes of headers in htsim's packets, and size of its acknowledgements.
_PACKET_BYTES = 4150
_PER_ACK = 16384
_PULL_SHARE = 0.99  # Part of the rate of its link that a receiver grants.
_FAILED_PERCENT = 25  # htsim's failed links keep this percentage of their rate.

# Options, each with the number of values that follow it. The ignored options do not change a run's results.
_IGNORED = {"-o": 1, "-log": 1, "-logtime": 1, "-logtime_us": 1, "-debug": 0, "-nodes": 1, "-seed": 1}
_TAKEN = {
    "-end": 1,
    "-receiver_cc": 0,
    "-receiver_cc_only": 0,
    "-sender_cc_only": 0,
    "-sender_cc": 0,
    "-sender_cc_algo": 1,
    "-load_balancing_algo": 1,
    "-paths": 1,
    "-failed": 1,
    "-topo": 1,
    "-cwnd": 1,
    "-q": 1,
    "-ecn": 2,
    "-sack_threshold": 1,
    "-linkspeed": 1,
    "-mtu": 1,
    "-disable_trim": 0,
    "-target_q_delay": 1,
    "-conn_reuse": 0,
}
_ALGORITHMS = {"nscc": "nscc", "constant": "fixed"}
_BALANCING = ("oblivious", "bitmap", "reps", "mixed")


@final
@dataclass(slots=True)
class _Experiment:
    location: FileLocation
    matrix: Path
    name: str = ""
    options: dict[str, list[str]] = field(default_factory=dict)
    locations: dict[str, FileLocation] = field(default_factory=dict)
    tail_us: int | None = None
    flows: tuple[str, ...] = ()  # flows for which the plan gives a target time of their own (`!FCT`)

    def number(self, option: str, default: int, *, low: int = 0, which: int = 0) -> int:
        """Return a value of an option, by its index `which`; `default` if the option is absent."""
        if option not in self.options:
            return default
        return self.locations[option].integer(self.options[option][which], option, low=low, high=1 << 40)

    def word(self, option: str, default: str, known: tuple[str, ...]) -> str:
        """Return an option's value, or `default` if the option is absent; refuse a value outside `known`."""
        value = self.options[option][0] if option in self.options else default
        if value not in known:
            self.locations[option].refuse(f"{option} {value} is not supported", f"give {' or '.join(known)}")
        return value


def is_plan(path: Path) -> bool:
    """Return whether the first 4 KiB of a text file have a line `!Experiment` of uet-htsim."""
    with open_file(path) as file:
        return b"\n!Experiment" in file.read(_HEAD_BYTES)


def read_plan(path: Path) -> tuple[Imported, ...]:
    """Return the experiments in the order of the plan, each with its fabric, settings and assertion.

    Raises:
        FormatError: A line is invalid, or an option is not supported; the message names the line.
    """
    experiments = list(_experiments(path))
    if not experiments:
        FileLocation(path).refuse(
            "the plan has no experiment", "begin one with a line that names a connection matrix"
        )
    with tempfile.TemporaryDirectory() as folder:
        return tuple(
            _imported(experiment, f"{number:02}-{experiment.name}", path.parent, Path(folder))
            for number, experiment in enumerate(experiments, 1)
        )


def _experiments(path: Path) -> Iterator[_Experiment]:
    now: _Experiment | None = None
    for location, text in lines_of(path):
        if not text.startswith("!"):
            if now is not None:
                yield now
            now = _Experiment(location, path.parent / text)
            continue
        if now is None:
            location.refuse(
                f"{text[:40]!r} stands above the first matrix",
                "begin with a line that names a connection matrix",
            )
        key, _, rest = text[1:].partition(" ")
        words = rest.split()
        if key == "Experiment":
            now.name = rest.strip()
        elif key == "Binary":
            if Path(rest.strip()).name != "htsim_uec":
                location.refuse(f"binary {rest.strip()[:40]!r} is not supported", "give htsim_uec")
        elif key == "Param":
            _option(now, location, words)
        elif key == "tailFCT":
            now.tail_us = location.integer(rest, "tailFCT", low=1)
        elif key == "FCT" and len(words) == 2:
            now.flows = (*now.flows, words[0])
        else:
            location.refuse(
                f"{text[:40]!r} is no line of a plan", "give Experiment, Binary, Param, tailFCT or FCT"
            )
    if now is not None:
        yield now


def _option(experiment: _Experiment, location: FileLocation, words: list[str]) -> None:
    name = words[0] if words else ""
    values = {**_IGNORED, **_TAKEN}.get(name)
    if values is None:
        location.refuse(f"option {name or '(none)'} is not supported", "remove the experiment from the plan")
    if len(words) != values + 1:
        location.refuse(
            f"option {name} takes {values} values, got {len(words) - 1}", f"give {values} after {name}"
        )
    experiment.options[name] = words[1:]
    experiment.locations[name] = location


def _imported(experiment: _Experiment, name: str, base: Path, folder: Path) -> Imported:
    gbps = experiment.number("-linkspeed", 100_000, low=1) / 1_000
    if "-topo" in experiment.options:
        topology = base / experiment.options["-topo"][0]
    else:
        topology = folder / f"{name.replace('/', '-')[:40]}.topo"
        topology.write_text(_fat_tree(experiment, gbps), encoding="utf-8")
    matrix = read_matrix([experiment.matrix, topology], by_hash=True)
    tiers, delay_ns = _diameter(topology)
    notes = ["A flow ends when its last data arrive; in htsim, when its last acknowledgement has arrived."]
    assert matrix.fabric is not None
    by_hash = not matrix.fabric.graph_routed
    if not by_hash:
        notes.append("A pair uses up to 16 source routes; in htsim, switches choose by a hash.")
    notes += matrix.notes
    settings = _settings(experiment, gbps, 2 * tiers, 2 * delay_ns, by_hash=by_hash)
    faults = _faults(experiment, matrix)
    if faults:
        link = settings["link"]
        link["ports"] = {fault["direction"]: _reduced(link) for fault in faults}
        notes.append(
            f"Failed links keep {_FAILED_PERCENT} % of their rate, queues and mark thresholds, as in htsim."
        )
    if experiment.flows:
        notes.append(f"The targets of single flows are not asserted: {', '.join(experiment.flows)}.")
    limit = min(experiment.tail_us or math.inf, experiment.number("-end", 1000, low=1))
    return replace(
        matrix,
        name=name,
        settings=settings,
        faults=faults,
        notes=tuple(notes),
        assertions=({"metric": "run.completion_us", "max": limit, "name": f"tail FCT below {limit} us"},),
    )


def _settings(
    experiment: _Experiment, gbps: float, hops: int, delay_ns: int, *, by_hash: bool
) -> Mapping[str, Any]:
    """Return the settings of the scenario's variant for an experiment, as keys of the scenario file.

    Args:
        experiment: The experiment with its options.
        gbps: Rate of the hosts' links.
        hops: Links of the longest path, in one direction.
        delay_ns: Propagation delay of the longest path, in one direction.
        by_hash: Switches choose among equal uplinks by hash.
    """
    packet = experiment.number("-mtu", _PACKET_BYTES, low=128)
    rtt_ns = 2 * delay_ns + (packet + _HEADERS) * 8 / gbps * hops
    product = math.ceil(rtt_ns * gbps / 8 / packet)  # Bandwidth-delay product in packets.
    trims = "-disable_trim" not in experiment.options
    frames = experiment.number("-q", product * (1 if trims else 5), low=1)
    first = experiment.number("-ecn", math.ceil(product * 0.2))
    last = experiment.number("-ecn", math.ceil(product * 0.8), which=1)
    timeout_us = 15 + frames * packet * 6 * 8 / gbps / 1_000
    algorithm, parameters = _congestion(experiment, product)
    spraying = experiment.word("-load_balancing_algo", "mixed", _BALANCING)
    paths = experiment.number("-paths", 64, low=1)
    single = paths == 1
    strategy = spraying if not single else "hashed" if by_hash else "all-path"
    transport: dict[str, Any] = {
        "ack_every": max(1, min(64, math.ceil(experiment.number("-sack_threshold", _PER_ACK) / packet))),
        "initial_rto_us": round(timeout_us, 3),
        "min_rto_us": round(timeout_us, 3),
        "congestion": {
            "algorithm": algorithm,
            "base_rtt_us": round(rtt_ns / 1_000, 5),
            "rate_gbps": gbps,
            "params": {key: value for key, value in parameters.items() if value},
        },
    }
    if by_hash:
        transport["window"] = MAX_WINDOW
    if single:
        transport["connections"] = {"paths": "random", "count": 1}
    else:
        transport["entropies"] = 1 << min(paths, 256).bit_length() - 1
    settings: dict[str, Any] = {
        "collective": {"payload_bytes": (packet - _HEADERS + 3) // 4 * 4},
        "routing": {"strategy": strategy, "peers": "job"},
        "transport": transport,
        "link": {
            "queues": {
                "data": {"bytes": frames * packet, "trim": trims},
                "response": {"bytes": 2 * frames * packet},
            },
            "ecn": {"first_frames": max(first, 1), "last_frames": max(last, first + 1)},
        },
    }
    return settings


def _congestion(experiment: _Experiment, product: int) -> tuple[str, Mapping[str, float]]:
    """Return the algorithm of congestion control and its parameters; `product`: packets of a round trip."""
    options = experiment.options.keys()
    senders = sorted({"-sender_cc_only", "-sender_cc", "-sender_cc_algo"} & options)
    receivers = sorted({"-receiver_cc_only", "-receiver_cc"} & options)
    if not senders and not receivers:
        experiment.location.refuse(
            "the experiment chooses no congestion control",
            "add `!Param -sender_cc_only` or `!Param -receiver_cc_only`",
        )
    only = [name for name in senders + receivers if name.endswith("_only")]
    if only and senders and receivers:
        experiment.locations[only[0]].refuse(
            f"{only[0]} beside {(receivers if only[0] in senders else senders)[0]} is not supported",
            "leave one of them out",
        )
    algorithm = _ALGORITHMS[experiment.word("-sender_cc_algo", "nscc", tuple(_ALGORITHMS))]
    first, delay = experiment.number("-cwnd", 0), experiment.number("-target_q_delay", 0)
    if not receivers:
        return algorithm, {} if algorithm == "fixed" else {"start_frames": first, "target_us": delay}
    granted = {"start_frames": first or math.ceil(1.5 * product), "share": _PULL_SHARE}
    if not senders:
        return "rccc", granted
    if algorithm == "fixed":
        experiment.locations["-sender_cc_algo"].refuse(
            f"-sender_cc_algo constant beside {receivers[0]} is not supported", "give nscc"
        )
    return "nscc+rccc", {**granted, "target_us": delay}


def _faults(experiment: _Experiment, matrix: Imported) -> tuple[Mapping[str, Any], ...]:
    """Return a fault that slows down each failed link.

    As in htsim, `-failed N` fails the first N links from core switches down to aggregation switches.
    """
    count = experiment.number("-failed", 0)
    if count == 0:
        return ()
    assert matrix.fabric is not None
    names = {node.name for node in matrix.fabric.nodes}
    cores = sum(name.startswith("core") for name in names)
    if cores == 0:
        experiment.locations["-failed"].refuse(
            "-failed is not supported in a topology without core switches", "use a topology of three tiers"
        )
    half = math.isqrt(cores)
    if half * half != cores or count > cores:
        experiment.locations["-failed"].refuse(
            f"-failed {count} is not supported with {cores} core switches",
            "give at most as many failed links as core switches, in a topology whose number of core switches "
            "is a square",
        )
    return tuple(
        {
            "at_us": 0.001,
            "direction": f"core{number // half % half + number % half * half}->agg{number // half}",
            "event": "rate",
            "percent": _FAILED_PERCENT,
        }
        for number in range(count)
    )


def _reduced(link: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the queues and marks of a failed link, whose sizes htsim reduces with the rate."""

    def part(number: int) -> int:
        return max(1, round(number * _FAILED_PERCENT / 100))

    queues = {
        name: {key: part(value) if key == "bytes" else value for key, value in queue.items()}
        for name, queue in link["queues"].items()
    }
    first, last = (part(link["ecn"][key]) for key in ("first_frames", "last_frames"))
    return {"queues": queues, "ecn": {"first_frames": first, "last_frames": max(last, first + 1)}}


def _diameter(topology: Path) -> tuple[int, int]:
    """Return the number of tiers of a topology file, and the delay from a host to the top tier in ns."""
    tiers, delay = 0, 0
    for _, text in lines_of(topology):
        key, *words = text.split()
        if key.lower() == "tiers" and words:
            tiers = int(words[0])
        elif key.lower() in ("downlink_latency_ns", "switch_latency_ns") and words:
            delay += int(words[0])
    return tiers, delay


def _fat_tree(experiment: _Experiment, gbps: float) -> str:
    """Return the text of a topology file: a three-tier fat tree of the matrix's hosts, 1 us per link."""
    nodes = next(
        (
            location.integer(text.split()[-1], "Nodes", low=2, high=1 << 16)
            for location, text in lines_of(experiment.matrix)
            if text.startswith("Nodes")
        ),
        0,
    )
    radix = round((4 * nodes) ** (1 / 3))
    if radix % 2 or radix**3 != 4 * nodes:
        experiment.location.refuse(
            f"no fat tree has {nodes} hosts", "give radix^3 / 4 hosts, or `-topo FILE`"
        )
    half = radix // 2
    lines = [f"Nodes {nodes}", "Tiers 3", f"Podsize {half * half}"]
    for tier in range(3):
        lines += [f"Tier {tier}", f"Downlink_speed_Gbps {gbps:g}", "Downlink_Latency_ns 1000"]
        lines += [f"Radix_Down {half}", f"Radix_Up {half}"] if tier < 2 else [f"Radix_Down {radix}"]
    return "\n".join(lines) + "\n"
