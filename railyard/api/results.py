# SPDX-License-Identifier: Apache-2.0
"""The result of a run of a scenario, as tables, drawings and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import final

from harness.errors import ScenarioError
from harness.output import OutputFolder, output_folder
from harness.recording.records import Record as RunRecord
from harness.report import results
from harness.report.charts import Charts
from harness.report.document import operation_document, to_json
from harness.report.incidents import incidents_json
from harness.report.measurement.own_cells import cell_figures
from harness.run.observation.collect import link_of
from harness.run.observation.variant_run import VariantRun, busy_share
from harness.scenario.cell_metrics import cell_metric
from harness.scenario.schema import Scenario
from railyard.api.drawings import Drawing, draw_links
from railyard.api.records import Record, link_records, renamed
from railyard.api.series import (
    blasts_of,
    events_of,
    flows_of,
    incidents_of,
    jobs_of,
    links_of,
    nodes_of,
    queues_of,
    ranks_of,
)
from topologies import Fabric

__all__ = ["Result"]


@final
@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The result of a run of a scenario.

    Attributes:
        scenario: The scenario that ran.
        fabric: The fabric on which all variants ran.
        verdict: Metrics and assertions; the content of result.json.
        runs: Observation of each variant, by name.
        seconds: Wall-clock seconds by variant and stage; no other value depends on a clock.
        command: Command that repeats the run; may be empty.
        captures: Capture files of the run, by VARIANT-LINK.
        records: Samples and events for tables over time; empty without `run(record=...)`.
    """

    scenario: Scenario
    fabric: Fabric
    verdict: results.Result
    runs: Mapping[str, VariantRun]
    seconds: Mapping[str, Mapping[str, float]]
    command: str = ""
    captures: Mapping[str, Path] = field(default_factory=dict)
    records: Sequence[RunRecord] = ()
    _charts: Charts = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_charts", Charts(self.scenario, self.runs))

    @property
    def passed(self) -> bool:
        """True if all assertions hold, including the assertion that the data of every NPU is correct."""
        return self.verdict.passed

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants that ran, in the order of the scenario."""
        return tuple(self.runs)

    def metric(self, variant: str, name: str) -> int | float:
        """Return a metric of a variant; `railyard list --metrics` describes all metrics.

        Cells of the user's own P4 programs have the names of assertions, such as `counters.NAME.packets` and
        `registers.NAME`; a name without cells other than 0 is 0.

        Raises:
            RailyardError: The run has no variant or no metric of that name.
        """
        self._run(variant)
        if self.scenario.variant(variant).program and cell_metric(name) is not None:
            (figure,) = cell_figures(frozenset({f"{variant}.{name}"}), self.runs).values()
            return figure
        try:
            return self.verdict.of(variant, name)
        except KeyError:
            known = [key.partition(".")[2] for key in self.verdict.metrics if key.startswith(f"{variant}.")]
            raise ScenarioError(
                f"the variant {variant} has no metric {name!r}", remedy=f"choose among {', '.join(known)}"
            ) from None

    def metrics(self) -> list[Record]:
        """Return all metrics: a record for each variant, with a column for each metric."""
        return [
            {
                "variant": variant,
                **{
                    key.removeprefix(f"{variant}."): value
                    for key, value in self.verdict.metrics.items()
                    if key.startswith(f"{variant}.")
                },
            }
            for variant in self.runs
        ]

    def links(self, variant: str | None = None) -> list[Record]:
        """Return the counters of all links: a record for each variant and direction of a link.

        Args:
            variant: Name of a variant; None means all variants.

        Returns:
            Records of variant, link, source, destination, frames, bytes, busy_percent (share of the time
            until completion), lost_frames (on a failed or impaired link), refused_frames (link down or queue
            full), max_queued_bytes, rate_gbps.
        """
        return [
            {"variant": name, **record}
            for name, run in self._chosen(variant).items()
            for link, usage in run.observation.link_usage.items()
            for record in link_records(
                replace(link_of(self.fabric, link), rate_bps=run.rates_bps[link]),
                usage,
                run.observation.completion_ps,
            )
        ]

    def timeline(self, variant: str | None = None) -> list[Record]:
        """Return the data received by NPUs over time: variant, time_us (start of a bin), bytes, gbps."""
        return [
            {
                "variant": name,
                "time_us": number * run.observation.timeline.bin_ps / 10**6,
                "bytes": size,
                "gbps": 8 * size * 1000 / run.observation.timeline.bin_ps,
            }
            for name, run in self._chosen(variant).items()
            for number, size in enumerate(run.observation.timeline.delivered)
        ]

    def links_over_time(
        self, variant: str | None = None, link: str | Sequence[str] | None = None
    ) -> list[Record]:
        """Return samples of every link over time; the run needs `record=`.

        Args:
            variant: Name of a variant; None means all variants.
            link: Name or names of links; None means all. A fabric of 2,048 GPUs has millions of rows.

        Returns:
            Records of variant, time_us, link, source, destination, busy_percent (share of the time since the
            last sample), queued_percent (of one receive buffer), up. In long runs, samples are farther apart.

        Raises:
            TopologyError: The fabric has no link of this name.
        """
        names = {self.fabric.link(name).name for name in ([link] if isinstance(link, str) else link or ())}
        return self._of(variant, links_of(self._recorded(variant), self.fabric, names))

    def nodes_over_time(self, variant: str | None = None) -> list[Record]:
        """Return samples of every node over time; the run needs `record=`.

        Returns:
            Records of variant, time_us, node, sent_gbps and received_gbps (over all links of the node, since
            the last sample), max_queued_percent (of the longest queue, in receive buffers).
        """
        return self._of(variant, nodes_of(self._recorded(variant), self.fabric))

    def queues_over_time(self, variant: str | None = None) -> list[Record]:
        """Return samples of a variant's deepest egress queues, at most 7, if the scenario names queues.

        Returns:
            Records of variant, time_us, node, to (the next node, or "host"), bytes that wait (the
            largest number observed since the previous sample), paused (by priority flow control).
        """
        return [*queues_of(self._chosen(variant))]

    def flows_over_time(self, variant: str | None = None) -> list[Record]:
        """Return samples of a variant's largest flows, at most 7, if the scenario names queues.

        Returns:
            Records of variant, time_us, source, destination, bytes (of data, acknowledged since the start).
        """
        return [*flows_of(self._chosen(variant))]

    def events(self, variant: str | None = None) -> list[Record]:
        """Return faults, notices, takeovers, and begins and ends of jobs, by time; the run needs `record=`.

        Returns:
            Records of variant, time_us, kind, text, node and count (of a rewrite or a notice), links (names
            of the links of a fault's target).
        """
        return self._of(variant, events_of(self._recorded(variant)))

    def incidents(self, variant: str | None = None) -> list[Record]:
        """Return the reaction of each node to each fault: how the node learned of it, and its actions.

        Returns:
            Records of variant, fault, fault_us, node, learns (`by itself`: at an end of a failed link; `by a
            notice`; `by silence`; `by a request` for news of the link; `by a controller` of spares or
            circuits), told_by (nodes whose notices the node read, in order), learned_us, acted_us (first
            action), recovered_us (last table write; None if the node rewrote no entry), entries_rewritten,
            notices. Times of nodes count from the fault. Each down and each up of a flap is a fault.
        """
        return [*incidents_of(self._chosen(variant))]

    def incident_ranks(self, variant: str | None = None) -> list[Record]:
        """Return each rank's longest time without received data between a fault and the next fault.

        Returns:
            Records of variant, fault, fault_us, job, rank, node, stall_us, finished_us (None if the rank did
            not finish). A rank that waits for other ranks receives nothing either. The resolution of stall_us
            is a slice of the run: 1/48 of the collective's bound or 5 % of the time, whichever is longer.
        """
        return [*ranks_of(self._chosen(variant))]

    def blast_radius(self, variant: str | None = None) -> list[Record]:
        """Return the extent of each fault: a record with numbers of affected nodes, table entries and ranks.

        Returns:
            Records of variant, fault, fault_us, detected_by, detected_us (from the fault; None if no node
            detected it by itself), recovered_us (from the fault to the last table write; None without one),
            links, nodes_told, nodes_rewritten, entries_rewritten, notices, jobs and ranks (those without data
            for some time), halted_jobs, slower_jobs (0.5 % or more slower than without faults), stall_us (the
            longest time without data).
        """
        return self._of(variant, blasts_of(self.scenario, self.runs))

    def jobs(self, variant: str | None = None) -> list[Record]:
        """Return the end of each job, beside the same job in a variant without faults.

        Returns:
            Records of variant, job (`job` if the scenario names none), completion_us (None if it halted),
            reference (the variant that has no faults and otherwise the same keys; may be empty), reference_us
            (time of the job there), slowdown (completion_us / reference_us), halted.
        """
        return self._of(variant, jobs_of(self.scenario, self.runs))

    def incidents_json(self) -> str:
        """Return all incidents with nodes and ranks, as the JSON of `railyard run --incidents`."""
        return incidents_json(self.scenario, self.runs)

    def _recorded(self, variant: str | None) -> Sequence[RunRecord]:
        self._chosen(variant)  # refuses an unknown variant first
        if not self.records:
            raise ScenarioError(
                "the run was not recorded, so it has no tables over time",
                remedy="call railyard.run(..., record=True)",
            )
        return self.records

    def _of(self, variant: str | None, rows: Iterable[Record]) -> list[Record]:
        """Return the rows of a variant, or of all variants."""
        chosen = self._chosen(variant)
        return [row for row in rows if row["variant"] in chosen]

    def operations(self, variant: str | None = None) -> list[Record]:
        """Return all operations of traffic graphs, with their times.

        Args:
            variant: Name of a variant; None means all variants.

        Returns:
            Records of variant, job, id, kind, members, bytes, begin_us, end_us, as in result.json, source
            (the first member) and target (the receiver of a send, else empty). A time is None if the
            operation did not begin or end.
        """
        return [
            renamed(
                {
                    "variant": name,
                    **operation_document(report),
                    "source": report.members[0],
                    "target": report.members[1] if len(report.members) > 1 else "",
                },
                operation="id",
            )
            for name, run in self._chosen(variant).items()
            for report in run.observation.operations
        ]

    def counters(self, variant: str | None = None) -> list[Record]:
        """Return the counters of P4 programs of your own (`program:` of a scenario) at the end of the run.

        Args:
            variant: Name of a variant; None means all variants.

        Returns:
            Records of variant, node, counter, index, packets, bytes: all nonzero cells of the indexed
            counters that the built-in program lacks.
        """
        return [
            {"variant": name, **asdict(cell)}
            for name, run in self._chosen(variant).items()
            for cell in run.observation.counters
        ]

    def registers(self, variant: str | None = None) -> list[Record]:
        """Return the registers of P4 programs of your own at the end of the run; see `counters`.

        Returns:
            Records of variant, node, register, index, value (unsigned). BMv2 does not support reading
            registers over P4Runtime: a run on BMv2 has no records, and `verdict.unread_registers` names the
            registers.
        """
        return [
            {"variant": name, **asdict(cell)}
            for name, run in self._chosen(variant).items()
            for cell in run.observation.registers
        ]

    def assertions(self) -> list[Record]:
        """Return all assertions as in result.json, each with its verdict: `holds`, `fails` or `not judged`.

        Returns:
            Records of name, metric, op, limit, value, passed, judged, verdict.
        """
        return [
            renamed({**asdict(item), "verdict": item.verdict}, assertion="name")
            for item in self.verdict.assertions
        ]

    def faults(self, variant: str | None = None) -> list[Record]:
        """Return the faults by time: the variant, and the keys of the fault in a scenario file."""
        return [
            {"variant": name, **fault}
            for name, faults in self.verdict.faults.items()
            if name in self._chosen(variant)
            for fault in faults
        ]

    def bounds(self, variant: str | None = None) -> list[Record]:
        """Return the lower bounds of each job's collective: variant, job, bound (a description), us."""
        return [
            {"variant": name, **asdict(bound)}
            for name, bounds in self.verdict.bounds.items()
            if name in self._chosen(variant)
            for bound in bounds
        ]

    def plot(self, variant: str | None = None) -> Drawing:
        """Draw the result: busy links, arrivals over time and completion times on one sheet.

        Args:
            variant: Name of a variant, to draw only its fabric with busy and failed links.
        """
        # Imported here, as in report(): a run without a report needs no figures.
        from harness.report.picture import picture_svg

        if variant is None:
            return Drawing(picture_svg(self.scenario, self.fabric, self.runs, self._charts))
        run = self._run(variant)
        down = [fault for fault in run.observation.faults if fault.event == "down"]
        cut = {link for fault in down for link in fault.links or (fault.target,)}
        return draw_links(self.fabric, busy_share(run), cut)

    def to_json(self) -> str:
        """Return the text of result.json, equal for equal scenarios and seeds."""
        return to_json(self.verdict)

    def report(self) -> str:
        """Return the text of report.html, a self-contained page."""
        from harness.report.captures import read_capture
        from harness.report.page import report_html

        return report_html(
            self.scenario,
            self.verdict,
            self.fabric,
            self.runs,
            self.command,
            {name: read_capture(path) for name, path in self.captures.items()},
            self._charts,
        )

    def save(self, folder: str | Path) -> Path:
        """Write result.json, report.html, picture.svg and timing.json; return the path of report.html.

        Raises:
            RailyardError: The folder cannot be written.
        """
        with output_folder(Path(folder)) as target:
            return self.write(target)

    def write(self, target: OutputFolder, *, report: bool = True) -> Path:
        """Write the result's files to an open folder; without `report`, only result.json and timing.json.

        Returns:
            The path of report.html, or of result.json without `report`.
        """
        figures = target.write("result.json", self.to_json())
        target.write(
            "timing.json",
            json.dumps({"command": self.command, "wall_clock_seconds": self.seconds}, indent=2) + "\n",
        )
        if not report:
            return figures
        target.write("picture.svg", self.plot().svg)
        return target.write("report.html", self.report())

    def _chosen(self, variant: str | None) -> Mapping[str, VariantRun]:
        return self.runs if variant is None else {variant: self._run(variant)}

    def _run(self, variant: str) -> VariantRun:
        if variant not in self.runs:
            raise ScenarioError(
                f"no variant named {variant!r} ran", remedy=f"choose among {', '.join(self.runs)}"
            )
        return self.runs[variant]

    def __repr__(self) -> str:
        held = f"{self.verdict.held} of {len(self.verdict.assertions)} assertions hold"
        return f"<Result of {self.scenario.name}, seed {self.verdict.seed}: {held}>"
