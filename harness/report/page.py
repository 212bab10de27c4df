# SPDX-License-Identifier: Apache-2.0
"""Write report.html: figures, tables and sources of a scenario's runs in a self-contained file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from harness.report.captures import Capture
from harness.report.charts import Charts
from harness.report.explore.parts import (
    explore_script,
    explore_style,
    heading,
    links_table,
    time_slider,
    variant_switches,
)
from harness.report.fidelity import FIDELITY_STYLE, NOT_TRUSTWORTHY, fidelity_html, verdict_html
from harness.report.figures.captured_frames import MAX_CAPTURES, captures_svg
from harness.report.figures.circuits import CIRCUITS_STYLE, circuits_svg, reconfiguration_words
from harness.report.figures.deadlock_cycle import CYCLE_STYLE, cycle_svg
from harness.report.figures.fabric import FABRIC_STYLE
from harness.report.figures.heat_map import heat_map_svg
from harness.report.figures.job_phases import MAX_ITERATIONS, PHASES_STYLE, phases_svg
from harness.report.figures.operations import MAX_MEMBERS, MAX_OPERATIONS, OPERATIONS_STYLE, operations_svg
from harness.report.figures.plot import colour
from harness.report.figures.queue_depths import queues_svg
from harness.report.incidents import incidents_html
from harness.report.markup import POLICY, html_page, shown, table
from harness.report.measurement.job_metrics import jobs_table
from harness.report.measurement.own_cells import cells_html
from harness.report.picture import link_use
from harness.report.results import Result
from harness.report.sources import citations
from harness.report.verdicts import assertions_table, bounds_html, failing_html
from harness.run.observation.queue_recorder import MAX_FLOWS, MAX_QUEUES
from harness.run.observation.variant_run import VariantRun
from harness.scenario.metrics import ALL_METRICS, RUN_TIMES
from harness.scenario.schema import Scenario, Variant
from topologies import Fabric

__all__ = ["report_html"]


# Explanations of sections, shown at their headings.
_WHY_TIMES = (
    "The completion time is the time from the start of the first NPU until the last NPU has its result. The "
    "mark is the lower bound: no schedule on these links can be faster."
)
_WHY_ARRIVALS = (
    "The chart shows the rate at which data frames reached NPUs, in bins of equal width. Move the slider to "
    "a time: the table shows the data that had arrived, the list shows the events so far, and the fabrics "
    "show the links that were cut at this time."
)
_WHY_LINKS = (
    "The busy share is the time that a link spent sending, by the counters of its two ends, as a share of "
    "the run. The scale is equal for all variants."
)
_WHY_TABLE = (
    "The table has the counters of every link at the end of the run. Click on a heading to sort, again to "
    "reverse the order; the filter takes a part of a link's name."
)
_WHY_JOBS = (
    "The time without faults is that of the variant that has no faults and otherwise the same keys, if there "
    "is one; the ratio is the time of the job divided by it. A job halts if a member gets no result."
)
_WHY_INCIDENTS = (
    "An incident has the consequences of a fault: the nodes that noticed it, the nodes that were told, the "
    "time until all tables were right, and the ranks that received nothing for a while. Open an incident for "
    "its nodes and ranks."
)
_WHY_CELLS = (
    "The tables have the non-zero cells, at the end of the run, of counters and registers that the built-in "
    "programs do not have."
)
_WHY_ASSERTIONS = (
    "An assertion is a condition of the scenario; the table has the measured value and the limit."
)
_WHY_METRICS = (
    "The table has all counted and computed metrics; point at a value for its meaning and its unit."
)

# Names of switch programs as their projects write them.
SWITCHES = {"bmv2": "BMv2", "builtin": "built-in"}


def report_html(
    scenario: Scenario,
    result: Result,
    fabric: Fabric,
    runs: Mapping[str, VariantRun],
    command: str,
    captures: Mapping[str, Capture] = MappingProxyType({}),
    charts: Charts | None = None,
) -> str:
    """Return the text of report.html.

    `command` repeats the run, and `captures` has its capture files by name. `charts` are the charts of the
    scenario and runs, if the caller has drawn them already.
    """
    charts = charts or Charts(scenario, runs)
    passed = '<span class="yes">passed</span>' if result.passed else '<span class="no">failed</span>'
    held = f"{result.held} of {len(result.assertions)} assertions hold"
    if result.unjudged:
        held += f", {result.unjudged} not judged"
    about = f"{escape(scenario.name)}, seed {result.seed}, {escape(result.testbed)} testbed"
    if result.switch:
        about += f", {escape(SWITCHES.get(result.switch, result.switch))} switches"
    size = f"{len(fabric.nodes)} nodes, {len(fabric.links)} links"
    body = [
        f"<h1>{escape(scenario.title or scenario.name)}</h1>",
        f'<p class="soft">{about}, {size}</p>',
        *([f"<p>{escape(scenario.description)}</p>"] if scenario.description else []),
        f'<p class="verdict">{held}: {passed}</p>',
        *failing_html(result),
        *filter(None, [verdict_html(scenario, result)]),
        variant_switches(scenario),
        heading("Completion time", _WHY_TIMES),
        f"<figure>{charts.completion_times}</figure>",
        *bounds_html(scenario, result),
        heading("Data that arrived, over time", _WHY_ARRIVALS),
        f"<figure>{charts.deliveries}</figure>",
        time_slider(),
        heading("Busy share of each link", _WHY_LINKS),
        '<p class="soft">Wider and stronger is busier, over the whole run and in the busier direction.',
        "Point at a link for its figures. A cut link is dashed and crossed.</p>",
        '<div class="panels">',
        *(
            _panel(index, escape(variant.label), link_use(fabric, runs, variant.name))
            for index, variant in enumerate(scenario.variants)
        ),
        "</div>",
        heading("Links by load", _WHY_TABLE),
        links_table(scenario, runs),
        *_jobs(scenario, runs),
        *_operations(scenario, runs),
        *_circuits(scenario, runs),
        *_traffic(scenario, runs),
        *_queues(scenario, runs),
        *_deadlocks(scenario, result, fabric),
        *_incidents(scenario, runs),
        *_cells(scenario, runs),
        *_takeovers(scenario, result),
        *_captures(captures),
        *filter(None, [fidelity_html(scenario, result)]),
        heading("Assertions", _WHY_ASSERTIONS),
        assertions_table(result),
        heading("Metrics", _WHY_METRICS),
        _metrics(scenario, result, runs),
        "<h2>Sources</h2>",
        "<ul>",
        *(f"<li>{escape(line)}</li>" for line in citations(scenario)),
        "<li>Every other figure was counted in this run, by the switches, the links, the NPUs and the",
        "controllers.</li>",
        "</ul>",
        f"<p>Command that repeats this run: <code>{escape(command)}</code></p>",
        explore_script(scenario, runs),
    ]
    style = f"{FABRIC_STYLE}{_styles_of_parts(result, runs)}{explore_style()}"
    return html_page(scenario.title or scenario.name, body, style, POLICY)


def _styles_of_parts(result: Result, runs: Mapping[str, VariantRun]) -> str:
    """Return the CSS of this report's optional parts."""
    needed = {
        CYCLE_STYLE: bool(result.deadlocks),
        FIDELITY_STYLE: bool(result.fidelity),
        CIRCUITS_STYLE: any(run.observation.reconfigurations for run in runs.values()),
        OPERATIONS_STYLE: any(run.observation.operations for run in runs.values()),
        PHASES_STYLE: any(job.iterations for run in runs.values() for job in run.observation.jobs),
    }
    return "".join(style for style, wanted in needed.items() if wanted)


def _cells(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the section on counters and registers of the user's own programs; empty without such cells."""
    parts = [*cells_html(scenario, runs)]
    return [heading("Counters and registers of your own P4 programs", _WHY_CELLS), *parts] if parts else []


def _incidents(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the section on incidents, the consequences of faults; empty without faults."""
    parts = [*incidents_html(scenario, runs)]
    return [heading("Incidents", _WHY_INCIDENTS), *parts] if parts else []


def _captures(captures: Mapping[str, Capture]) -> list[str]:
    """Return the section with the frames of capture files over time; empty without capture files."""
    if not captures:
        return []
    more = len(captures) - MAX_CAPTURES
    rest = [f'<p class="soft">and {more} more captures</p>'] if more > 0 else []
    return ["<h2>Captured frames</h2>", f"<figure>{captures_svg(captures)}</figure>", *rest]


def _panel(index: int, caption: str, svg: str) -> str:
    """Return a figure of the variant number `index`, with an HTML caption marked by the variant's colour."""
    chip = f'<span class="chip" style="background:{colour(index)}"></span>'
    return f'<figure data-variant="{index}"><figcaption>{chip} {caption}</figcaption>{svg}</figure>'


def _jobs(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the table of all jobs, and figures of their phases for variants with iterations."""
    if not any(run.observation.jobs for run in runs.values()):
        return []
    parts = [heading("Each job", _WHY_JOBS), jobs_table(scenario, runs)]
    figures = [
        _panel(index, escape(variant.label), phases_svg(runs[variant.name].observation.jobs))
        for index, variant in enumerate(scenario.variants)
        if any(job.iterations for job in runs[variant.name].observation.jobs)
    ]
    if figures:
        parts += [
            "<h2>Computation and communication of each job</h2>",
            '<p class="soft">Green, above: computation, from the start of a job\'s first member. Red,',
            " below: the job's collective, until the last member finished it. At most",
            f"{MAX_ITERATIONS} iterations of each job are drawn.</p>",
            *figures,
        ]
    return parts


def _operations(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the section with the operations of traffic graphs over time; empty without operations."""
    figures = [
        _panel(index, escape(variant.label), operations_svg(operations))
        for index, variant in enumerate(scenario.variants)
        if (operations := runs[variant.name].observation.operations)
    ]
    return _section(
        "Timeline of sends",
        "A line leads from a send's first frame at its source to its last element at its target; a bar is a "
        "computation. Each job has a colour. Point at a line for its name, size and times. At most "
        f"{MAX_OPERATIONS:,} operations of {MAX_MEMBERS} members are drawn; result.json has all.",
        figures,
        "wide",
    )


def _circuits(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the section with circuits between Pods before and after each reconfiguration; perhaps empty."""
    figures = [
        _panel(
            index,
            f"{escape(variant.label)}, {escape(reconfiguration_words(change))}",
            circuits_svg(change.before, change.after, change.dark),
        )
        for index, variant in enumerate(scenario.variants)
        for change in runs[variant.name].observation.reconfigurations
    ]
    return _section("Circuits between Pods", "", figures)


def _traffic(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the section with a traffic matrix for each different collective or graph of the scenario."""
    figures: dict[object, str] = {}
    for index, variant in enumerate(scenario.variants):
        traffic = runs[variant.name].traffic
        sent = (variant.collective, variant.graph, variant.jobs if variant.graph else None)
        if traffic is not None and sent not in figures:
            caption = f"{escape(variant.label)}: {traffic}"
            figures[sent] = _panel(index, caption, heat_map_svg(traffic))
    return _section(
        "Traffic matrix",
        "Bytes from each rank to each rank, in the whole run; of a job with iterations, in one iteration. "
        "Lines separate groups, which are boards or domains; blank pairs send nothing.",
        list(figures.values()),
        "panels matrices",
    )


def _queues(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[str]:
    """Return the depths of queues and rates of flows over time, where a scenario names queues."""
    figures = [
        _panel(index, escape(variant.label), queues_svg(log))
        for index, variant in enumerate(scenario.variants)
        if (log := runs[variant.name].observation.queues) is not None and log.queues
    ]
    return _section(
        "Queues and flows over time",
        f"The {MAX_QUEUES} deepest egress queues, the times at which their ports were paused, and the "
        f"{MAX_FLOWS} flows with the most data.",
        figures,
        "wide",
    )


def _deadlocks(scenario: Scenario, result: Result, fabric: Fabric) -> list[str]:
    """Return the section with the cycle of full buffers of each deadlocked variant; empty without any."""
    figures = [
        _panel(
            index,
            f"{escape(variant.label)}: nothing moves from {deadlock.at_ps / 10**6:g} µs on",
            cycle_svg(fabric, deadlock.cycle),
        )
        for index, variant in enumerate(scenario.variants)
        if (deadlock := result.deadlocks.get(variant.name)) is not None
    ]
    return _section(
        "Deadlock",
        "Each arrow is a link whose receive buffer is full, on the virtual lane of its label. The frames in "
        "that buffer leave by the next arrow and wait for room in its buffer, so no frame ever moves.",
        figures,
        "panels cycles",
    )


def _section(title: str, words: str, figures: Sequence[str], style: str = "panels") -> list[str]:
    """Return a section with a title, an explanation and figures; empty without figures."""
    if not figures:
        return []
    explanation = [f'<p class="soft">{words}</p>'] if words else []
    return [f"<h2>{title}</h2>", *explanation, f'<div class="{style}">', *figures, "</div>"]


def _takeovers(scenario: Scenario, result: Result) -> list[str]:
    """Return the section with takeovers by spare NPUs and nodes unreachable at the end; empty without any."""
    rows = []
    for variant in scenario.variants:
        events = [*result.takeovers.get(variant.name, ()), *filter(None, [result.cut_off.get(variant.name)])]
        rows += [(escape(variant.label), escape(str(event))) for event in events]
    if not rows:
        return []
    return ["<h2>Lost NPUs</h2>", table(("variant", "event"), rows, numbers=0)]


def _metrics(scenario: Scenario, result: Result, runs: Mapping[str, VariantRun]) -> str:
    rows = [
        (
            f"<code>{name}</code>",
            escape(metric.meaning),
            *(
                "halted"
                if name in RUN_TIMES and runs[variant.name].observation.halted
                else _value(result, variant, name)
                for variant in scenario.variants
            ),
        )
        for name, metric in ALL_METRICS.items()
        if any(f"{variant.name}.{name}" in result.metrics for variant in scenario.variants)
    ]
    labels = [escape(variant.label) for variant in scenario.variants]
    return table(("metric", "meaning", *labels), rows, numbers=len(labels))


def _value(result: Result, variant: Variant, name: str) -> str:
    """Return a metric's value as HTML, with a question mark if it depends on untrustworthy times."""
    if f"{variant.name}.{name}" not in result.metrics:
        return ""
    metric = ALL_METRICS[name]
    unit = f", in {metric.unit}" if metric.unit else ""
    words = escape(f"{variant.label}: {metric.meaning}{unit}", quote=True)
    value = shown(result.of(variant.name, name))
    fidelity = result.fidelity.get(variant.name)
    if fidelity is None or fidelity.trustworthy or not metric.timed:
        return f'<span title="{words}">{value}</span>'
    return f'<span class="soft" title="{NOT_TRUSTWORTHY.lower()}; {words}">{value} ?</span>'
