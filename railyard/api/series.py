# SPDX-License-Identifier: Apache-2.0
"""Tables over time, from the records of a recorded run, and tables of incidents and of jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict

from harness.recording.records import Kind, Record, Tick
from harness.report.incidents import incident_record, outcomes_of
from harness.report.measurement.job_metrics import job_outcomes
from harness.run.observation.collect import link_of
from harness.run.observation.incidents import Incident
from harness.run.observation.incidents import incidents_of as incidents_by_time
from harness.run.observation.variant_run import VariantRun, us
from harness.scenario.schema import Scenario
from railyard.api.records import Record as Row
from topologies import Fabric, Link

__all__ = [
    "blasts_of",
    "events_of",
    "flows_of",
    "incidents_of",
    "jobs_of",
    "links_of",
    "nodes_of",
    "queues_of",
    "ranks_of",
]

_FULL = 255
_UP = 1


def links_of(records: Iterable[Record], fabric: Fabric, names: Collection[str] = ()) -> Iterator[Row]:
    """Yield a row for each variant, sample and direction of a link; see `Result.links_over_time`.

    `names` names the links; empty means all.
    """
    for variant, tick, links in _samples(records, fabric):
        for number, link in enumerate(links):
            if names and link.name not in names:
                continue
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
    """Yield a row for each variant, sample and node; see `Result.nodes_over_time`."""
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


def queues_of(runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each variant, queue and sample, see `Result.queues_over_time`."""
    for variant, run in runs.items():
        if (log := run.observation.queues) is None:
            continue
        for queue in log.queues:
            for time_ps, waiting, paused in zip(log.times_ps, queue.bytes, queue.paused, strict=True):
                yield {
                    "variant": variant,
                    "time_us": time_ps / 10**6,
                    "node": queue.node,
                    "to": queue.to,
                    "bytes": waiting,
                    "paused": paused,
                }


def flows_of(runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each variant, flow and sample, see `Result.flows_over_time`."""
    for variant, run in runs.items():
        if (log := run.observation.queues) is None:
            continue
        for flow in log.flows:
            for time_ps, acknowledged in zip(log.times_ps, flow.bytes, strict=True):
                yield {
                    "variant": variant,
                    "time_us": time_ps / 10**6,
                    "source": flow.source,
                    "destination": flow.destination,
                    "bytes": acknowledged,
                }


def events_of(records: Iterable[Record]) -> Iterator[Row]:
    """Yield a row for each event, in the order of time; see `Result.events`."""
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


def incidents_of(runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each fault and each node that reacts to it; see `Result.incidents`."""
    for variant, incident in _incidents(runs):
        for node in incident.nodes:
            yield {**_told(variant, incident), **node.record(incident.at_ps), "told_by": node.told_by}


def ranks_of(runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each fault and rank; see `Result.incident_ranks`."""
    for variant, incident in _incidents(runs):
        for rank in incident.ranks:
            yield {
                **_told(variant, incident),
                "job": rank.job,
                "rank": rank.rank,
                "node": rank.node,
                "stall_us": us(rank.stall_ps),
                "finished_us": None if rank.finished_ps is None else us(rank.finished_ps),
            }


def jobs_of(scenario: Scenario, runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each variant and job; see `Result.jobs`."""
    for outcome in job_outcomes(scenario, runs):
        yield {**asdict(outcome), "slowdown": outcome.slowdown, "halted": outcome.halted}


def blasts_of(scenario: Scenario, runs: Mapping[str, VariantRun]) -> Iterator[Row]:
    """Yield a row for each fault; see `Result.blast_radius`."""
    outcomes = outcomes_of(scenario, runs)
    for variant, incident in _incidents(runs):
        record = incident_record(incident, outcomes[variant])
        yield {
            **_told(variant, incident),
            "detected_by": tuple(record["detected_by"]),
            "detected_us": record["detected_us"],
            "recovered_us": record["recovered_us"],
            **record["blast_radius"],
            "stall_us": us(incident.stall_ps),
        }


def _incidents(runs: Mapping[str, VariantRun]) -> Iterator[tuple[str, Incident]]:
    for variant, run in runs.items():
        for incident in incidents_by_time(run.observation):
            yield variant, incident


def _told(variant: str, incident: Incident) -> Row:
    return {"variant": variant, "fault": incident.text, "fault_us": us(incident.at_ps)}


def _samples(records: Iterable[Record], fabric: Fabric) -> Iterator[tuple[str, Tick, list[Link]]]:
    """Yield each sample with the name of its variant, and the links in the order of the sample's values."""
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
