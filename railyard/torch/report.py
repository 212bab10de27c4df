# SPDX-License-Identifier: Apache-2.0
"""HTML report of a training run: steps and values over time, shares of time by rank, busy links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Any

from harness.report.figures.link_loads import link_loads_svg
from harness.report.figures.plot import COLOURS, INK, colour, new_figure, plain, svg_of
from harness.report.markup import POLICY, html_page, shown, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.recording.records import Record

__all__ = ["report_html"]

_MOST_LINKS = 20
_ROW_INCHES, _LEAST_INCHES, _MOST_INCHES = 0.16, 1.6, 12.0


def report_html(
    document: Mapping[str, Any], title: str, faults: Sequence[tuple[float, str]], records: Sequence[Record]
) -> str:
    """Return the report of a run.

    Args:
        document: The values of training.json.
        title: Title of the scenario's variant, or of the fabric.
        faults: Times in us and words of the scenario's faults.
        records: Records of the run (TrainingRecorder), for the load of links over time.
    """
    ranks = document["ranks"]
    rounds = [*document.get("earlier_rounds", ()), ranks]
    failed = [rank for rank in ranks if rank["outcome"] != "done"]
    steps = sum(max((len(rank["steps"]) for rank in of_round), default=0) for of_round in rounds)
    verdict = (
        f"{len(ranks) - len(failed)} of {len(ranks)} ranks ended well after {document['end_us']:,.2f} µs"
    )
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{steps} steps; {verdict} of virtual time.</p>",
        *(
            f"<p>Rank {rank['rank']} on {escape(rank['node'])}: {escape(rank['outcome'])}</p>"
            for rank in failed
        ),
        *_restarts(rounds),
        *_steps(rounds, faults),
        "<h2>Shares of time</h2>",
        '<p class="soft">Of each rank: computation, communication, and waiting for slower ranks.</p>',
        f"<figure>{_shares_svg(ranks)}</figure>",
        "<h2>Operations</h2>",
        _operations(document["operations"]),
        "<h2>Busiest links</h2>",
        f"<figure>{link_loads_svg(records, faults)}</figure>",
        _links(document["links"], document["end_us"]),
    ]
    return html_page(title, body, policy=POLICY)


def _restarts(rounds: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a table of the rounds of a run if its ranks started again."""
    if len(rounds) == 1:
        return
    yield "<h2>Restarts</h2>"
    rows = []
    for number, ranks in enumerate(rounds):
        ended = [rank["outcome"] for rank in ranks if rank["outcome"] != "done"]
        first = next((why for why in ended if not why.startswith("stopped: ")), ended[0] if ended else "done")
        begun, end = ranks[0]["begun_us"], max(rank["end_us"] for rank in ranks)
        rows.append([str(number), escape(first), str(len(ranks)), f"{begun:,.2f}", f"{end:,.2f}"])
    yield table(["round", "end", "ranks", "from µs", "to µs"], rows, 3)


def _steps(
    rounds: Sequence[Sequence[Mapping[str, Any]]], faults: Sequence[tuple[float, str]]
) -> Iterator[str]:
    """Yield a chart of the time of each step, and a chart of each value noted by the script."""
    steps: list[list[Mapping[str, float]]] = [[] for _ in max(rounds, key=len)]
    for ranks in rounds:
        for rank in ranks:
            steps[rank["rank"]] += rank["steps"]
    steps = [of_rank for of_rank in steps if of_rank]
    if not steps:
        return
    yield "<h2>Steps</h2>"
    yield '<p class="soft">The median over the ranks, and the range from the fastest to the slowest rank.</p>'
    yield f"<figure>{_times_svg(steps, faults)}</figure>"
    names = dict.fromkeys(key for step in steps[0] for key in step if key not in ("end_us", "took_us"))
    for name in names:
        yield f"<figure>{_values_svg(name, [step.get(name) for step in steps[0]])}</figure>"


def _times_svg(steps: Sequence[Sequence[Mapping[str, float]]], faults: Sequence[tuple[float, str]]) -> str:
    count = max(map(len, steps))
    took = [[rank[at]["took_us"] for rank in steps if at < len(rank)] for at in range(count)]
    figure, axes = new_figure(2.6)
    x = range(1, count + 1)
    axes.fill_between(x, [min(of) for of in took], [max(of) for of in took], color=colour(0), alpha=0.25)
    axes.plot(x, [median(of) for of in took], color=colour(0), marker="o", markersize=3)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("time of a step, µs")
    _number_steps(axes, count)
    for time_us, words in faults:
        ends = [step["end_us"] for step in steps[0]]
        position = 1 + sum(end < time_us for end in ends)
        if position <= count:
            axes.axvline(position, color=INK, linestyle=(0, (4, 3)), linewidth=1)
            axes.annotate(words, (position, 1), xycoords=("data", "axes fraction"), color=INK, fontsize=8)
    return svg_of(figure, "steps")


def _values_svg(name: str, values: Sequence[float | None]) -> str:
    figure, axes = new_figure(2.0)
    points = [(at + 1, value) for at, value in enumerate(values) if value is not None]
    axes.plot([x for x, _ in points], [y for _, y in points], color=colour(1), marker="o", markersize=3)
    axes.set_ylabel(name)
    _number_steps(axes, len(values))
    return svg_of(figure, f"values-{name}")


def _number_steps(axes: Axes, count: int) -> None:
    axes.set_xlim(0.5, count + 0.5)
    every = -(-count // 20)
    axes.set_xticks(range(every, count + 1, every))
    axes.set_xlabel("step")


def _shares_svg(ranks: Sequence[Mapping[str, Any]]) -> str:
    """Draw a bar for each rank, divided by computation, communication and waiting."""
    height = min(max(_ROW_INCHES * len(ranks), _LEAST_INCHES), _MOST_INCHES)
    figure, _ = new_figure(height)
    figure.clear()
    axes = figure.subplots()
    plain(axes)
    left = [0.0] * len(ranks)
    rows = range(len(ranks))
    for index, (key, label) in enumerate(
        (("compute", "computation"), ("communication_us", "communication"), ("waiting_us", "waiting"))
    ):
        widths = [_share(rank, key) for rank in ranks]
        axes.barh(rows, widths, left=left, color=COLOURS[(2, 1, 6)[index]], height=0.8, label=label)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_ylim(len(ranks) - 0.5, -0.5)
    axes.set_xlabel("share of the rank's time, %")
    axes.set_ylabel("rank")
    axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(1, 1))
    return svg_of(figure, "shares")


def _share(rank: Mapping[str, Any], key: str) -> float:
    whole = rank["end_us"] - rank["begun_us"] or 1.0
    if key != "compute":
        return 100 * rank[key] / whole
    return 100 * max(0.0, whole - rank["communication_us"] - rank["waiting_us"]) / whole


def _operations(operations: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of operations by kind, bytes and members: count, and durations at the first member."""
    groups: dict[tuple[str, int, int], list[float]] = {}
    for operation in operations:
        if operation["rank"] == operation["group"][0] and operation["ended_us"] is not None:
            key = operation["kind"], operation["bytes"], len(operation["group"])
            groups.setdefault(key, []).append(operation["ended_us"] - (operation["begun_us"] or 0.0))
    rows = [
        [
            escape(kind),
            shown(size),
            shown(members),
            shown(len(took)),
            f"{median(took):,.3f}",
            f"{max(took):,.3f}",
        ]
        for (kind, size, members), took in sorted(groups.items(), key=lambda item: -sum(item[1]))
    ]
    return table(["operation", "bytes", "members", "count", "median µs", "longest µs"], rows, 5)


def _links(links: Mapping[str, Mapping[str, Sequence[float]]], end_us: float) -> str:
    """Return a table of the links with the longest sending time, each in its busier direction."""
    busy = sorted(
        ((max(of["busy_us"]), name) for name, of in links.items()), key=lambda pair: (-pair[0], pair[1])
    )
    rows = [
        [escape(name), f"{time:,.3f}", f"{100 * time / (end_us or 1):.1f}"]
        for time, name in busy[:_MOST_LINKS]
    ]
    return table(["link", "busy µs", "share %"], rows, 2)
