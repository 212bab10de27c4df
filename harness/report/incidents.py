# SPDX-License-Identifier: Apache-2.0
"""Report incidents, the consequences of a run's faults: metrics, JSON and a section of report.html."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import inf
from typing import Any

from harness.report.markup import shown, table
from harness.report.measurement.job_metrics import JobOutcome, job_outcomes
from harness.run.observation.incidents import Incident, RankStall, first_names, incidents_of
from harness.run.observation.variant_run import Figure, VariantRun, us
from harness.scenario.schema import Scenario

__all__ = ["fault_metrics", "incident_record", "incidents_html", "incidents_json", "outcomes_of"]

# Largest number of rows of a table in the report.
_ROWS = 40

# None: the event did not happen.
_FIGURES: Mapping[str, Callable[[Incident], Figure | None]] = {
    "detected_us": lambda incident: _after(incident, incident.detected_ps),
    "recovered_us": lambda incident: _after(incident, incident.recovered_ps),
    "notices": lambda incident: incident.notices,
    "nodes_told": lambda incident: incident.nodes_told,
    "nodes_rewritten": lambda incident: incident.nodes_rewritten,
    "entries_rewritten": lambda incident: incident.entries,
    "stalled_ranks": lambda incident: len(incident.stalled),
    "stall_us": lambda incident: us(incident.stall_ps),
}


def fault_metrics(run: VariantRun) -> dict[str, Figure]:
    """Return the metrics of each fault as faults[N].METRIC; a flap gets the largest value of its phases.

    The time of an event that did not happen is infinite.
    """
    figures: dict[str, Figure | None] = {}
    for incident in incidents_of(run.observation):
        for name, figure in _FIGURES.items():
            key = f"faults[{incident.fault}].{name}"
            happened = [value for value in (figures.get(key), figure(incident)) if value is not None]
            figures[key] = max(happened, default=None)
    return {key: inf if value is None else value for key, value in figures.items()}


def incident_record(incident: Incident, outcomes: Mapping[str, JobOutcome]) -> dict[str, Any]:
    """Return an incident as values for JSON.

    Times are microseconds, None for an event that did not happen. `at_us` and `finished_us` count from the
    begin of the run, `completion_us` and `reference_us` from the begin of the job, all other times from the
    fault.

    Args:
        incident: The incident.
        outcomes: Outcomes of the jobs of the variant, by job. All faults of the variant share them.
    """
    return {
        "fault": incident.fault,
        "phase": incident.phase,
        "text": incident.text,
        "at_us": us(incident.at_ps),
        "links": list(incident.links),
        "detected_by": list(incident.detected_by),
        "detected_us": _after(incident, incident.detected_ps),
        "recovered_us": _after(incident, incident.recovered_ps),
        "blast_radius": {
            "links": len(incident.links),
            **{
                name: _FIGURES[name](incident)
                for name in ("nodes_told", "nodes_rewritten", "entries_rewritten", "notices")
            },
            "jobs": len({rank.job for rank in incident.stalled}),
            "ranks": len(incident.stalled),
            **_losses(incident, outcomes),
        },
        "nodes": [node.record(incident.at_ps) for node in incident.nodes],
        "jobs": [
            {
                "job": job,
                "stalled_ranks": sum(rank.stall_ps > 0 for rank in ranks),
                "stall_us": us(max(rank.stall_ps for rank in ranks)),
                "finished_us": _last_us(ranks),
                **_outcome_record(outcomes.get(job)),
                "ranks": [
                    {
                        "rank": rank.rank,
                        "node": rank.node,
                        "stall_us": us(rank.stall_ps),
                        "finished_us": None if rank.finished_ps is None else us(rank.finished_ps),
                    }
                    for rank in ranks
                ],
            }
            for job, ranks in _by_job(incident).items()
        ],
    }


def outcomes_of(scenario: Scenario, runs: Mapping[str, VariantRun]) -> dict[str, dict[str, JobOutcome]]:
    """Return the outcomes of all jobs by variant and job."""
    outcomes: dict[str, dict[str, JobOutcome]] = {name: {} for name in runs}
    for outcome in job_outcomes(scenario, runs):
        outcomes[outcome.variant][outcome.job] = outcome
    return outcomes


def incidents_json(scenario: Scenario, runs: Mapping[str, VariantRun]) -> str:
    """Return the incidents of all variants with faults as a JSON document."""
    outcomes = outcomes_of(scenario, runs)
    variants = {
        name: [incident_record(incident, outcomes[name]) for incident in incidents]
        for name, run in runs.items()
        if (incidents := incidents_of(run.observation))
    }
    document = {
        "format": "railyard-incidents",
        "schema": 1,
        "scenario": scenario.name,
        "variants": variants,
    }
    return json.dumps(document, indent=2) + "\n"


def incidents_html(scenario: Scenario, runs: Mapping[str, VariantRun]) -> Iterator[str]:
    """Yield the incidents of all variants as HTML: a sentence, a table of nodes and of ranks for each."""
    outcomes = outcomes_of(scenario, runs)
    for variant in scenario.variants:
        for incident in incidents_of(runs[variant.name].observation):
            yield f"<details><summary>{escape(variant.label)}, {us(incident.at_ps):g} µs: "
            struck = dict.fromkeys(rank.job for rank in incident.ranks)
            ends = [outcome.sentence for job in struck if (outcome := outcomes[variant.name].get(job))]
            yield f"{escape('; '.join([incident.sentence, *filter(None, ends)]))}</summary>"
            if incident.nodes:
                yield _node_table(incident)
            if incident.stalled:
                yield _rank_table(incident)
            yield "</details>"


def _node_table(incident: Incident) -> str:
    heads = [
        "node",
        "knows of it",
        "told by",
        "after, µs",
        "tables right, µs",
        "entries",
        "messages sent",
    ]
    rows = [
        [
            escape(node.node),
            node.learns,
            escape(first_names(node.told_by)),
            shown(us(node.learned_ps - incident.at_ps)),
            "" if node.recovered_ps is None else shown(us(node.recovered_ps - incident.at_ps)),
            shown(node.entries),
            shown(node.notices),
        ]
        for node in incident.nodes[:_ROWS]
    ]
    return table(heads, rows, 4) + _rest(len(incident.nodes), "nodes")


def _rank_table(incident: Incident) -> str:
    heads = ["job", "rank", "node", "without data, µs", "ends, µs"]
    longest = sorted(incident.stalled, key=lambda rank: -rank.stall_ps)
    rows = [
        [
            escape(rank.job),
            str(rank.rank),
            escape(rank.node),
            shown(us(rank.stall_ps)),
            "never" if rank.finished_ps is None else shown(us(rank.finished_ps)),
        ]
        for rank in longest[:_ROWS]
    ]
    return table(heads, rows, 2) + _rest(len(longest), "ranks")


def _rest(count: int, what: str) -> str:
    return f'<p class="soft">and {count - _ROWS} more {what}</p>' if count > _ROWS else ""


def _after(incident: Incident, time_ps: int | None) -> float | None:
    return None if time_ps is None else us(time_ps - incident.at_ps)


def _losses(incident: Incident, outcomes: Mapping[str, JobOutcome]) -> dict[str, int]:
    """Return the numbers of jobs, among those that had not finished at the fault, that halted or slowed."""
    struck = [outcomes[job] for job in {rank.job for rank in incident.ranks} if job in outcomes]
    return {
        "halted_jobs": sum(outcome.halted for outcome in struck),
        "slower_jobs": sum(outcome.loses and not outcome.halted for outcome in struck),
    }


def _outcome_record(outcome: JobOutcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    return {
        "halted": outcome.halted,
        "completion_us": outcome.completion_us,
        "reference": outcome.reference,
        "reference_us": outcome.reference_us,
        "slowdown": outcome.slowdown,
    }


def _by_job(incident: Incident) -> dict[str, list[RankStall]]:
    jobs: dict[str, list[RankStall]] = {}
    for rank in incident.ranks:
        jobs.setdefault(rank.job, []).append(rank)
    return jobs


def _last_us(ranks: Sequence[RankStall]) -> float | None:
    ends = [rank.finished_ps for rank in ranks]
    return None if None in ends else us(max(end for end in ends if end is not None))
