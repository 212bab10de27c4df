# SPDX-License-Identifier: Apache-2.0
"""Tables over time, from the records of a watched run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.recording.records import Kind, Record, Tick
from harness.run.observation.collect import link_of
from railyard.api.records import Record as Row
from topologies import Fabric, Link

__all__ = ["events_of", "incidents_of", "links_of", "nodes_of"]

_FULL = 255
_UP = 1


def links_of(records: Iterable[Record], fabric: Fabric) -> Iterator[Row]:
    """Yield a row for each variant, sample and direction of a link, see `Result.links_over_time`."""
    for variant, tick, links in _samples(records, fabric):
        for number, link in enumerate(links):
            for way, (source, target) in enumerate(((link.a, link.b), (link.b, link.a))):
                at = 2 * number + way
                yield {
                    "variant": variant,
                    "time_us": tick.time_ps / 10**6,
                    "link": link.name,
                    "source": source.node,
                    "destination": target.node,
                    "busy_percent": round(100 * tick.links.load[at] / _FULL, 1),
                    "queued_percent": round(100 * tick.links.queue[at] / _FULL, 1),
                    "up": bool(tick.links.state[number] & _UP),
                }


def nodes_of(records: Iterable[Record], fabric: Fabric) -> Iterator[Row]:
    """Yield a row for each variant, sample and node, see `Result.nodes_over_time`."""
    for variant, tick, links in _samples(records, fabric):
        sent = dict.fromkeys((node.name for node in fabric.nodes), 0.0)
        received, queued = dict(sent), dict(sent)
        for number, link in enumerate(links):
            gbps = link.rate_bps / 10**9
            for way, (source, target) in enumerate(((link.a, link.b), (link.b, link.a))):
                share = tick.links.load[2 * number + way] / _FULL
                sent[source.node] += share * gbps
                received[target.node] += share * gbps
                waiting = 100 * tick.links.queue[2 * number + way] / _FULL
                queued[source.node] = max(queued[source.node], waiting)
        for name in sent:
            yield {
                "variant": variant,
                "time_us": tick.time_ps / 10**6,
                "node": name,
                "sent_gbps": round(sent[name], 2),
                "received_gbps": round(received[name], 2),
                "max_queued_percent": round(queued[name], 1),
            }


def events_of(records: Iterable[Record]) -> Iterator[Row]:
    """Yield a row for each event in its order, see `Result.events`."""
    variant = ""
    for record in records:
        if record.kind is Kind.VARIANT:
            variant = record.values["name"]
        elif record.kind is Kind.EVENT:
            values = record.values
            yield {
                "variant": variant,
                "time_us": values["t"] / 10**6,
                "kind": values["kind"],
                "text": values["text"],
                "node": values.get("node", ""),
                "count": values.get("count", 0),
                "links": tuple(values.get("links", ())),
            }


def incidents_of(records: Iterable[Record], fabric: Fabric) -> Iterator[Row]:
    """Yield a row for each fault and node that reacts, see `Result.incidents`.

    A reaction counts for the last fault before it.
    """
    fault: Row | None = None
    reactions: dict[str, Row] = {}
    for row in events_of(records):
        if row["kind"] == "fault" or (fault is not None and row["variant"] != fault["variant"]):
            yield from reactions.values()
            fault, reactions = (row if row["kind"] == "fault" else None), {}
        elif fault is not None and row["kind"] in ("rewrite", "notice"):
            node = row["node"]
            if node not in reactions:
                links = [link_of(fabric, name) for name in fault["links"]]
                at_end = node in {end.node for link in links for end in (link.a, link.b)}
                reactions[node] = {
                    "variant": row["variant"],
                    "fault": fault["text"],
                    "fault_us": fault["time_us"],
                    "node": node,
                    "learns": "by itself" if at_end else "by a notice",
                    "reacts_us": row["time_us"],
                    "delay_us": round(row["time_us"] - fault["time_us"], 6),
                    "repaired_us": None,
                    "entries_rewritten": 0,
                    "notices_sent": 0,
                }
            if row["kind"] == "rewrite":
                reactions[node]["entries_rewritten"] += row["count"]
                reactions[node]["repaired_us"] = row["time_us"]
            else:
                reactions[node]["notices_sent"] += row["count"]
    yield from reactions.values()


def _samples(records: Iterable[Record], fabric: Fabric) -> Iterator[tuple[str, Tick, list[Link]]]:
    """Yield each sample with its variant and the links that it is about, in the order of its bytes."""
    variant = ""
    links: list[Link] = []
    for record in records:
        if record.kind is Kind.VARIANT:
            values: Mapping[str, list[str]] = record.values
            variant = str(values["name"])
            links = [link_of(fabric, name) for name in values["links"]]
        elif record.kind is Kind.LINKS:
            links += [link_of(fabric, name) for name in record.values["links"]]
        elif record.kind is Kind.TICK:
            yield variant, Tick.of(record), links
