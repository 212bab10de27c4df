# SPDX-License-Identifier: Apache-2.0
"""report.html, one file that needs nothing else, and picture.svg, its figures on one sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from lab.report.chart import Bar, Curve, bars_svg, colour, timeline_svg
from lab.report.circuits_view import CIRCUITS_STYLE, circuits_svg, jobs_table, rewired_words
from lab.report.cycle import CYCLE_STYLE, cycle_svg
from lab.report.fidelity import NOT_TRUSTWORTHY, TRUST_STYLE, stamp, stamp_html, trust_html
from lab.report.heat_map import heat_map_svg
from lab.report.markup import shown, table
from lab.report.metrics import ALL_METRICS, Subject, busy_share
from lab.report.phases import MOST_SHOWN, PHASES_STYLE, phases_svg
from lab.report.rack import RACK_STYLE, rack_svg
from lab.report.results import Result
from lab.scenario.schema import Collective, Scenario, Variant
from topologies import Fabric

__all__ = ["picture_svg", "report_html"]

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c2127; --soft: #66707a; --line: #d9dee3;
  --card: #f6f8fa; --good: #0a7d4f; --bad: #c2410c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181c; --ink: #e4e8ec; --soft: #9aa5b0; --line: #333c45; --card: #1b2127;
    --good: #4cc38a; --bad: #ff8a4c; } }
body { margin: 0 auto; max-width: 74rem; padding: 2rem 1.25rem 4rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.9rem; }
h2 { margin: 2.6rem 0 .6rem; font-size: 1.25rem; }
p { max-width: 46rem; }
.soft { color: var(--soft); }
.verdict { font-weight: 650; }
.yes { color: var(--good); }
.no { color: var(--bad); }
.racks { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }
.racks figure { --page: var(--card); }
.circles figure { max-width: 34rem; }
.chip { display: inline-block; width: .8em; height: .8em; border-radius: 3px; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: 10px;
  background: var(--card); }
figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; margin-bottom: .4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
code { font: .9em ui-monospace, monospace; }
"""

SOURCES = """
<ul>
<li>Bound of an AllReduce in two halves: every NPU has to send 2 (N - 1)/N of its data D over all its links
at once, which takes 0.140625 D/B on 8 by 8 with links of rate B. Derived from the 2D full mesh of the UB-Mesh
paper (arXiv 2503.20377); the paper does not state it. Bound of one ring that keeps to its own
links, as shortest paths do: 2 (N - 1)/N D/B; with idle links borrowed the first bound holds.</li>
<li>Lanes and the shape of the rack: UB-Mesh. The paper gives no lane rate; 100 Gbit/s a lane is a
stand-in that public simulators use.</li>
<li>Every other figure was counted in this run, by the switches, the links, the NPUs and the controllers.</li>
</ul>
"""

# Of picture.svg; the sheet is 1180 by 610, and a line more where there is a stamp.
SHEET_STYLE = """
svg { color: #1c2127; --page: #fff; }
@media (prefers-color-scheme: dark) { svg { color: #e4e8ec; --page: #14181c; } }
.sheet { fill: var(--page); }
.head { font: 600 15px system-ui, sans-serif; fill: currentColor; }
"""


# What the timeline calls an event that has a shorter name for the eye.
STRUCK = {"down": "cut", "up": "back", "rate": "slower", "clear": "well"}

# What people call the kinds of switches.
SWITCHES = {"bmv2": "BMv2", "builtin": "built-in"}

# How a verdict looks.
VERDICTS = {"holds": "yes", "fails": "no", "not judged": "soft"}


def report_html(
    scenario: Scenario, result: Result, fabric: Fabric, subjects: Mapping[str, Subject], command: str
) -> str:
    """The whole report; `command` is what makes it again."""
    title = escape(scenario.title or scenario.name)
    verdict = '<span class="yes">passed</span>' if result.passed else '<span class="no">failed</span>'
    held = f"{result.held} of {len(result.assertions)} assertions hold"
    if result.unjudged:
        held += f", {result.unjudged} not judged"
    run = f"{escape(scenario.name)}, seed {result.seed}, {escape(result.testbed)} testbed"
    if result.switch:
        run += f", {escape(SWITCHES.get(result.switch, result.switch))} switches"
    size = f"{len(fabric.nodes)} nodes, {len(fabric.links)} links"
    racks = (_rack(index, variant, fabric, subjects) for index, variant in enumerate(scenario.variants))
    body = [
        f"<h1>{title}</h1>",
        f'<p class="soft">{run}, {size}</p>',
        f"<p>{escape(scenario.description)}</p>",
        f'<p class="verdict">{held}: {verdict}</p>',
        *filter(None, [stamp_html(scenario, result)]),
        "<h2>How long it took</h2>",
        f"<figure>{bars_svg(_bars(scenario, subjects))}</figure>",
        "<h2>What arrived when</h2>",
        f"<figure>{timeline_svg(_curves(scenario, subjects), _clock(subjects))}</figure>",
        "<h2>How busy each link was</h2>",
        '<p class="soft">Wider and stronger is busier, over the whole run and in the busier direction.',
        "Point at a link for its figures. A cut link is dashed and crossed.</p>",
        '<div class="racks">',
        *racks,
        "</div>",
        *_jobs(scenario, subjects),
        *_circuits(scenario, subjects),
        *_traffic(scenario, subjects),
        *_deadlocks(scenario, result, fabric),
        *_spares(scenario, result),
        *filter(None, [trust_html(scenario, result)]),
        "<h2>Assertions</h2>",
        _assertions(result),
        "<h2>Figures</h2>",
        _metrics(scenario, result),
        "<h2>Where the figures come from</h2>",
        SOURCES,
        f"<p>To make this report again: <code>{escape(command)}</code></p>",
    ]
    more = (CYCLE_STYLE if result.deadlocks else "") + (TRUST_STYLE if result.fidelity else "")
    more += CIRCUITS_STYLE if any(one.seen.rewired for one in subjects.values()) else ""
    if any(job.iterations for one in subjects.values() for job in one.seen.jobs):
        more += PHASES_STYLE
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{STYLE}{RACK_STYLE}{more}</style></head>",
    ]
    return "\n".join([*head, "<body>", *body, "</body>", "</html>\n"])


def picture_svg(scenario: Scenario, fabric: Fabric, subjects: Mapping[str, Subject]) -> str:
    """The rack of the first variant with a fault, the timeline and the comparison, on one sheet."""
    shown = next((variant for variant in scenario.variants if variant.faults), scenario.variants[0])
    rack = rack_svg(
        fabric, busy_share(subjects[shown.name]), _cut(subjects[shown.name]), full=_full(subjects)
    )
    word = stamp({name: one.fidelity for name, one in subjects.items() if one.fidelity})
    height = 642 if word else 610
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    parts = [
        f'<svg {spaces} viewBox="0 0 1180 {height}">',
        f"<style>{SHEET_STYLE}{RACK_STYLE}</style>",
        f'<rect class="sheet" width="1180" height="{height}" rx="10"/>',
        f'<text class="head" x="24" y="34">{escape(shown.label)}: how busy each link was</text>',
        _placed(rack, 14, 44, 520, 550),
        '<text class="head" x="566" y="34">What arrived when</text>',
        _placed(timeline_svg(_curves(scenario, subjects), _clock(subjects)), 556, 44, 610, 310),
        '<text class="head" x="566" y="388">How long it took</text>',
        _placed(bars_svg(_bars(scenario, subjects)), 556, 396, 610, 200),
        *([f'<text class="head" x="24" y="624">{word}</text>'] if word else []),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _placed(svg: str, x: int, y: int, width: int, height: int) -> str:
    place = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="xMinYMin meet"'
    return re.sub(r"^<svg", place, svg, count=1)


def _bars(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[Bar]:
    return [
        Bar(
            index,
            variant.label,
            subjects[variant.name].seen.completion_ps / 10**6,
            subjects[variant.name].bound_ps / 10**6,
            subjects[variant.name].doubtful,
            subjects[variant.name].seen.deadlock is not None,
        )
        for index, variant in enumerate(scenario.variants)
    ]


def _clock(subjects: Mapping[str, Subject]) -> str:
    """Whose time it is: with real time beneath it, none is virtual."""
    return "scenario time" if any(subject.fidelity for subject in subjects.values()) else "virtual time"


def _curves(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[Curve]:
    """Of the variants with the collective of the first with a fault: others have another time scale."""
    model = next((variant for variant in scenario.variants if variant.faults), scenario.variants[0])
    curves = []
    for index, variant in enumerate(scenario.variants):
        if variant.collective != model.collective:
            continue
        seen = subjects[variant.name].seen
        bin_us = seen.timeline.bin_ps / 10**6
        converged = seen.recovery.converged_ps
        curves.append(
            Curve(
                index,
                variant.label,
                bin_us,
                [8 * delivered / (bin_us * 10**6) for delivered in seen.timeline.delivered],
                [(fault.at_ps / 10**6, STRUCK.get(fault.event, fault.event)) for fault in seen.faults],
                converged / 10**6 if seen.faults and converged is not None else None,
            )
        )
    return curves


def _rack(index: int, variant: Variant, fabric: Fabric, subjects: Mapping[str, Subject]) -> str:
    chip = f'<span class="chip" style="background:{colour(index)}"></span>'
    svg = rack_svg(
        fabric, busy_share(subjects[variant.name]), _cut(subjects[variant.name]), full=_full(subjects)
    )
    return f"<figure><figcaption>{chip} {escape(variant.label)}</figcaption>{svg}</figure>"


def _jobs(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[str]:
    rows = [(one.label, job) for one in scenario.variants for job in subjects[one.name].seen.jobs]
    return ["<h2>Each job</h2>", jobs_table(rows), *_phases(scenario, subjects)] if rows else []


def _phases(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[str]:
    """When jobs computed and sent, of the variants in which any has iterations."""
    figures = [
        f'<figure><figcaption><span class="chip" style="background:{colour(index)}"></span> '
        f"{escape(variant.label)}</figcaption>{phases_svg(subjects[variant.name].seen.jobs)}</figure>"
        for index, variant in enumerate(scenario.variants)
        if any(job.iterations for job in subjects[variant.name].seen.jobs)
    ]
    if not figures:
        return []
    return [
        "<h2>When jobs computed and sent</h2>",
        '<p class="soft">Green, above: computation, from when a job\'s first member began. Red, below: its',
        f"collective, until the last was through. The first {MOST_SHOWN} iterations of each.</p>",
        *figures,
    ]


def _circuits(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[str]:
    """What optical switches joined before and after each change."""
    figures = [
        f'<figure><figcaption><span class="chip" style="background:{colour(index)}"></span> '
        f"{escape(variant.label)}, {escape(rewired_words(change))}</figcaption>"
        f"{circuits_svg(change.before, change.after, change.dark)}</figure>"
        for index, variant in enumerate(scenario.variants)
        for change in subjects[variant.name].seen.rewired
    ]
    if not figures:
        return []
    return ["<h2>Circuits between Pods</h2>", '<div class="racks">', *figures, "</div>"]


def _traffic(scenario: Scenario, subjects: Mapping[str, Subject]) -> list[str]:
    """Who sends how much to whom, once for each collective."""
    shown: dict[Collective, str] = {}
    for index, variant in enumerate(scenario.variants):
        sent = subjects[variant.name].sent
        if sent is not None and variant.collective not in shown:
            chip = f'<span class="chip" style="background:{colour(index)}"></span>'
            words = f"{escape(variant.label)}: {sent}"
            shown[variant.collective] = (
                f"<figure><figcaption>{chip} {words}</figcaption>{heat_map_svg(sent)}</figure>"
            )
    if not shown:
        return []
    return [
        "<h2>Who sends how much to whom</h2>",
        '<p class="soft">By rank, over the whole run; of a job with iterations, in one of them. Lines part',
        "boards or domains; blank is nothing.</p>",
        '<div class="racks">',
        *shown.values(),
        "</div>",
    ]


def _deadlocks(scenario: Scenario, result: Result, fabric: Fabric) -> list[str]:
    """The circle of each variant that came to stand still."""
    if not result.deadlocks:
        return []
    figures = [
        f'<figure><figcaption><span class="chip" style="background:{colour(index)}"></span> '
        f"{escape(variant.label)}: nothing moves from {found.at_ps / 10**6:g} µs on</figcaption>"
        f"{cycle_svg(fabric, found.cycle)}</figure>"
        for index, variant in enumerate(scenario.variants)
        if (found := result.deadlocks.get(variant.name)) is not None
    ]
    return [
        "<h2>Where it stands still</h2>",
        '<p class="soft">Each arrow is a link whose buffer at the far end is full, on the lane it names.',
        "Frames in it that leave by the next arrow wait for room there: so none of them ever does.</p>",
        '<div class="racks circles">',
        *figures,
        "</div>",
    ]


def _spares(scenario: Scenario, result: Result) -> list[str]:
    """What spare NPUs did, and what was out of reach at the end."""
    rows = []
    for variant in scenario.variants:
        said = [*result.takeovers.get(variant.name, ()), *filter(None, [result.cut_off.get(variant.name)])]
        rows += [(escape(variant.label), escape(str(one))) for one in said]
    if not rows:
        return []
    return ["<h2>NPUs that were lost</h2>", table(("variant", "what happened"), rows, numbers=0)]


def _cut(subject: Subject) -> set[str]:
    """Links that a fault took down, be they up again in the end."""
    down = (fault for fault in subject.seen.faults if fault.event == "down")
    return {link for fault in down for link in fault.links or (fault.target,)}


def _full(subjects: Mapping[str, Subject]) -> float:
    """One scale for all racks of a report: the busiest direction of any link, up to the next tenth."""
    pairs = [pair for subject in subjects.values() for pair in busy_share(subject).values()]
    busiest = max(max(pair) for pair in pairs)
    return min(1.0, max(0.1, (int(busiest * 10) + 1) / 10))


def _assertions(result: Result) -> str:
    rows = [
        (
            f'<span class="{VERDICTS[item.verdict]}">{item.verdict}</span>',
            escape(item.name),
            shown(item.value),
            shown(item.limit),
        )
        for item in result.assertions
    ]
    return table(("", "assertion", "value", "limit"), rows, numbers=2)


def _metrics(scenario: Scenario, result: Result) -> str:
    rows = [
        (
            f"<code>{name}</code>",
            escape(metric.meaning),
            *(_figure(result, variant, name) for variant in scenario.variants),
        )
        for name, metric in ALL_METRICS.items()
        if any(f"{variant.name}.{name}" in result.metrics for variant in scenario.variants)
    ]
    labels = [escape(variant.label) for variant in scenario.variants]
    return table(("metric", "meaning", *labels), rows, numbers=len(labels))


def _figure(result: Result, variant: Variant, name: str) -> str:
    """With a question mark where it depends on times that cannot be believed."""
    if f"{variant.name}.{name}" not in result.metrics:
        return ""
    figure = shown(result.of(variant.name, name))
    fidelity = result.fidelity.get(variant.name)
    if fidelity is None or fidelity.trustworthy or not ALL_METRICS[name].timed:
        return figure
    return f'<span class="soft" title="{NOT_TRUSTWORTHY.lower()}">{figure} ?</span>'
