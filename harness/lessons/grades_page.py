# SPDX-License-Identifier: Apache-2.0
"""Write the grades of a class as grades.html: a line for each folder, and its notes below."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.lessons.confined.landlock import keeps_reads
from harness.lessons.grading import Grade, word_of

__all__ = ["NOT_CONFINED", "as_html"]

NOT_CONFINED = (
    "This machine's kernel cannot confine what students' code reads (Linux 5.13 or later with Landlock "
    "can): the code could read other folders and solutions."
)

# Columns after `stages`: heading, whether numbers stand in it, and explanation.
_COLUMNS = (
    ("report", False, "whether report.json fits the files; `railyard lab verify` repeats its check"),
    (
        "similar",
        False,
        "share of token sequences in common with the most similar other folder and solution; no proof",
    ),
    ("solution of", False, "stages whose solution equals the files byte by byte"),
    ("hints", True, "number of hints taken, by a file that the student can edit"),
    ("restores", True, "number of restored stages, by a file that the student can edit"),
    ("seed", True, "random seed of the check: `railyard lab check FOLDER --seed SEED` repeats it"),
    ("seconds", True, "duration of the check"),
)

# Marks of verdicts, so that colour is not their only sign.
_MARKS = {"pass": "\u2713", "fail": "\u2717", "unchecked": "?"}

_STYLE = """
:root { color-scheme: light dark; --line: #ccd3da; --soft: #5b6875; --good: #0a7d4f; --bad: #c2410c; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a444e; --soft: #9aa5b0; --good: #4cc38a; --bad: #ff8a4c; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .9rem; font-size: .88rem;
  color: var(--soft); }
dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .35em .6em; text-align: left; vertical-align: top; }
tbody { border-top: 1px solid var(--line); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.stage { display: inline-block; margin: 0 .3em .2em 0; padding: 0 .5em; border: 1px solid; border-radius: 1em;
  font-size: .88em; white-space: nowrap; color: var(--soft); }
.pass { color: var(--good); } .fail { color: var(--bad); }
.notes { padding-top: 0; font-size: .88rem; color: var(--soft); overflow-wrap: anywhere; }
.notes ul { margin: 0; padding-left: 1.2em; }
"""


def as_html(grades: Sequence[Grade]) -> str:
    """Return the table of grades as a self-contained HTML page."""
    heads = ["folder", "lab", "passed", "stages", *(name for name, _, _ in _COLUMNS)]
    numbers = {"passed", *(name for name, number, _ in _COLUMNS if number)}
    head = "".join(f"<th{_class(name in numbers)}>{name}</th>" for name in heads)
    rows = "\n".join(_rows(result, len(heads)) for result in grades)
    whole = sum(result.lab is not None and result.passed == len(result.lab.stages) for result in grades)
    legend = "".join(f"<dt>{name}</dt><dd>{escape(words)}</dd>" for name, _, words in _COLUMNS)
    warning = "" if keeps_reads() else f"<p>{escape(NOT_CONFINED)}</p>\n"
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Railyard labs: grades</title>
<style>{_STYLE}</style></head>
<body>
<h1>{len(grades)} folders, {whole} with all stages</h1>
<p>Every folder was checked again with its own seed.</p>
{warning}<div class="scroll"><table><thead><tr>{head}</tr></thead>
{rows}</table></div>
<h2>Columns</h2>
<dl>{legend}</dl>
</body>
</html>
"""


def _class(number: bool) -> str:
    return ' class="n"' if number else ""


def _rows(result: Grade, width: int) -> str:
    """Return a folder's line, and a line with its notes and the observations of stages that do not pass."""
    lab = result.lab
    stages = "".join(
        f'<span class="stage {word_of(verdict)}" title="{word_of(verdict)}">'
        f"{_MARKS[word_of(verdict)]} {escape(name)}</span>"
        for name, verdict in result.verdicts.items()
    )
    cells = (
        (escape(str(result.folder)), False),
        (escape(lab.name if lab else ""), False),
        (f"{result.passed} of {len(lab.stages)}" if lab else "", True),
        (stages, False),
        (escape(result.report), False),
        (escape("; ".join(result.similar)), False),
        (escape(", ".join(result.restored)), False),
        (str(result.hints) if lab else "", True),
        (str(result.restores) if lab else "", True),
        (str(result.seed) if lab else "", True),
        (f"{result.seconds:.1f}", True),
    )
    line = "".join(f"<td{_class(number)}>{cell}</td>" for cell, number in cells)
    notes = "".join(f"<li>{escape(note)}</li>" for note in (result.note, *result.failures) if note)
    below = f'<tr><td class="notes" colspan="{width}"><ul>{notes}</ul></td></tr>' if notes else ""
    return f"<tbody><tr>{line}</tr>{below}</tbody>"
