# SPDX-License-Identifier: Apache-2.0
"""railyard lab: labs for a class, with checks, hints and progress for students and grades for teachers."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.help import Command, Group
from railyard.cli.display.screen import MACHINE, counting, out, say
from railyard.cli.display.table import print_table
from railyard.cli.options import refuse

if TYPE_CHECKING:
    from harness.lessons.attempt import Verdict
    from harness.lessons.catalogue import Lab, Stage

__all__ = ["app"]

_FAILED = 1
_NO_LAB = 2  # exit code for a folder that is no lab folder

# Seconds between two checks for changed files in `railyard lab watch`.
_LOOK_SECONDS = 0.5

app = typer.Typer(
    help="Labs for a class: you repair a broken network, and a check measures the fabric.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    cls=Group,
)

_FOLDER = typer.Argument(help="your folder of the lab, by default this folder")
_LAB = typer.Option("--lab", help="number or name of the lab, if the folder does not record it")


def _this_command() -> str:
    """Return the command `railyard` as a shell finds it: by name if it is on the PATH, else by path."""
    called = Path(sys.argv[0])
    on_path = shutil.which("railyard")
    if on_path and Path(on_path).resolve() == called.resolve():
        return "railyard"
    if called.name != "railyard":
        return f"{shlex.quote(sys.executable)} -m railyard"
    return shlex.quote(str(called))


@app.command("list", cls=Command)
def list_labs() -> None:
    """List the labs with number, title, subject, minutes, stages and required programs."""
    from harness.lessons.catalogue import labs

    rows = [
        (
            str(lab.number),
            lab.title,
            lab.summary,
            str(lab.minutes),
            str(len(lab.stages)),
            ", ".join(lab.programs),
        )
        for lab in labs()
    ]
    print_table(out(), ("lab", "title", "what it is", "minutes", "stages", "needs"), rows, names=("lab",))
    say("`railyard lab start 3` copies lab 3 into a folder of yours.")


@app.command(cls=Command)
def start(
    number: Annotated[str, typer.Argument(metavar="N", help="number or name of the lab")],
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="new folder; else lab-N")] = None,
) -> None:
    """Copy the files of a lab into a new folder of your own.

    The folder then contains README.md with the task, the file that you write, and files that the lab
    provides.
    """
    from harness.lessons.catalogue import find_lab
    from harness.lessons.folder import start as start_lab

    lab = find_lab(number)
    folder = folder or Path(f"lab-{lab.number}")
    files = start_lab(lab, folder)
    say(f"lab {lab.number}, {lab.title}: read {folder}/README.md, then write {', '.join(map(str, files))}")
    say(f"check your work with: {_this_command()} lab check {shlex.quote(str(folder))}")
    for lacking in lab.lacking():
        say(f"note: {lacking}")


@app.command(cls=Command)
def check(
    folder: Annotated[Path, _FOLDER] = Path(),
    lab_name: Annotated[str, _LAB] = "",
    seed: Annotated[int | None, typer.Option(help="repeat a check with its seed; else a new seed")] = None,
) -> None:
    """Check all stages of your lab, and write report.json into your folder.

    For each stage, the check prints the expected and the observed behaviour, and a hint where to look. Each
    check draws a new seed. printed.txt has what your Python code printed during the last check in which it
    printed.

    Exit code 0: all stages pass; 1: a stage fails; 2: the folder is not a folder of a lab; 3: all checked
    stages pass, but some stages need a program that is not installed.
    """
    from harness.lessons.checker import draw_seed
    from harness.lessons.folder import lab_of

    lab = lab_of(folder, lab_name)
    failing = _failing(folder, lab, draw_seed() if seed is None else seed)
    if failing:
        raise typer.Exit(_FAILED if any(verdict.checked for verdict in failing) else MACHINE)


def _failing(folder: Path, lab: Lab, seed: int) -> list[Verdict]:
    """Check a folder, print and write the verdicts, and return the verdicts of stages that do not pass."""
    from harness.lessons.checker import check_folder
    from harness.lessons.folder import changed_files, note_check
    from harness.lessons.report import make_report, write_report
    from harness.output import OutputFolder

    for name in changed_files(folder, lab):
        say(f"note: you changed {name}, a file of the lab; the check uses the original instead of yours")
    before: list[Verdict] = []

    def show(stage: Stage, verdict: Verdict) -> None:
        _print_verdict(stage, verdict, before[-1] if before else None)
        before.append(verdict)

    printed: list[str] = []
    verdicts = check_folder(folder, lab, seed, on_verdict=show, on_printed=printed.append)
    report = make_report(folder, lab, seed, verdicts)
    write_report(report, folder)
    stages = tuple(name for name, verdict in verdicts.items() if verdict.passed)
    note_check(folder, lab, stages)
    if printed:
        OutputFolder(folder).write("printed.txt", "".join(printed))
        say("note: printed.txt has what your code printed")
    say(f"{len(stages)} of {len(verdicts)} stages pass (seed {seed}); report.json has the details")
    return [verdict for verdict in verdicts.values() if not verdict.passed]


def _print_verdict(stage: Stage, verdict: Verdict, before: Verdict | None) -> None:
    """Print the verdict of a stage; an observation that the stage before has as well is not printed again."""
    word = "pass" if verdict.passed else "FAIL" if verdict.checked else "----"
    say(f"{word}  {stage.id}: {stage.title}")
    if verdict.expected != stage.title:
        say(f"      expected: {verdict.expected}")
    if not verdict.passed and before and (verdict.observed, verdict.look) == (before.observed, before.look):
        say("      observed: as above")
        return
    say(f"      observed: {verdict.observed}")
    if not verdict.passed:
        say(f"      look at:  {verdict.look}")


@app.command(cls=Command)
def hint(
    folder: Annotated[Path, _FOLDER] = Path(),
    stage: Annotated[str, typer.Option(help="id or number of a stage; else the first stage that fails")] = "",
    lab_name: Annotated[str, _LAB] = "",
) -> None:
    """Print the next of the three hints of a stage; your progress records the number of hints."""
    from harness.lessons.folder import lab_of, next_hint

    lab = lab_of(folder, lab_name)
    chosen = lab.stage(stage) if stage else _first_failing(lab, folder)
    number, text = next_hint(folder, lab, chosen)
    say(f"{chosen.id}, hint {number} of {len(chosen.hints)}: {text}")


def _first_failing(lab: Lab, folder: Path) -> Stage:
    from harness.lessons.folder import read_record

    checks = read_record(folder).checks
    last = checks[-1].passed if checks else ()
    return next((stage for stage in lab.stages if stage.id not in last), lab.stages[-1])


@app.command(cls=Command)
def progress(folder: Annotated[Path, _FOLDER] = Path(), lab_name: Annotated[str, _LAB] = "") -> None:
    """Show each stage of your lab: its state, first pass, number of hints, and whether it was restored."""
    from harness.lessons.folder import lab_of, read_record

    lab, record = lab_of(folder, lab_name), read_record(folder)
    rows = []
    for number, stage in enumerate(lab.stages, 1):
        times = [check.when for check in record.checks if stage.id in check.passed]
        last = bool(record.checks) and stage.id in record.checks[-1].passed
        state = "passes" if last else "passed before" if times else "open"
        hints = f"{record.hints.get(stage.id, 0)} of {len(stage.hints)}"
        restored = "yes" if stage.id in record.restored else ""
        rows.append((str(number), stage.id, state, times[0] if times else "", hints, restored))
    headings = ("", "stage", "state", "first passed", "hints", "restored")
    checks = f"{len(record.checks)} check{'s' * (len(record.checks) != 1)}"
    print_table(
        out(),
        headings,
        rows,
        names=("stage",),
        caption=f"{checks}; from your own record, which is no proof for a teacher",
    )


@app.command(cls=Command)
def restore(
    stage: Annotated[str, typer.Option(help="id or number of the stage to make pass")],
    folder: Annotated[Path, _FOLDER] = Path(),
    lab_name: Annotated[str, _LAB] = "",
) -> None:
    """Replace your files by the solution of a stage, to continue with the next stage.

    Your own file is kept as FILE.before, or FILE.before-2 and so on if that exists, and your progress records
    the replacement.
    """
    from harness.lessons.folder import lab_of
    from harness.lessons.folder import restore as restore_stage

    lab = lab_of(folder, lab_name)
    chosen = lab.stage(stage)
    for path, kept in restore_stage(folder, lab, chosen).items():
        own = f"; your own file is now {kept.name}" if kept else ""
        say(f"{path} is new{own}")
    say(f"stage {chosen.id} passes with these files")


@app.command(cls=Command)
def watch(folder: Annotated[Path, _FOLDER] = Path(), lab_name: Annotated[str, _LAB] = "") -> None:
    """Check your lab each time you save one of your files, until Ctrl-C."""
    from harness.lessons.checker import draw_seed
    from harness.lessons.folder import hashes, lab_of

    lab = lab_of(folder, lab_name)
    checked: dict[str, str] | None = None
    while True:
        now = hashes(folder, lab)
        if now == checked:
            time.sleep(_LOOK_SECONDS)
            continue
        _failing(folder, lab, draw_seed())
        checked = now
        say(f"{datetime.now():%H:%M:%S}: waiting for a change of {', '.join(lab.files)}; Ctrl-C ends\n")


@app.command(cls=Command)
def verify(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="students' folders")],
    lab_name: Annotated[str, _LAB] = "",
) -> None:
    """Repeat the check of each folder with the seed in its report.json, and compare files and outcome.

    A folder that contains students' folders stands for all of them.

    Exit code 0: every report is confirmed; 1: a report is not, for the printed reason; 2: a folder is not a
    folder of a lab. A folder that cannot be checked does not end the command.
    """
    from harness.errors import LabError
    from harness.lessons.folder import folders_of_class, lab_of
    from harness.lessons.report import disagreement, read_report

    folders = [own for folder in folders for own in folders_of_class(folder)]
    code = 0
    for folder in folders:
        try:
            lab, report = lab_of(folder, lab_name), read_report(folder)
        except LabError as ex:
            if len(folders) == 1:
                raise
            code = _NO_LAB
            say(f"{folder}: {ex}")
            continue
        why = "there is no report.json" if report is None else disagreement(report, folder, lab, repeat=True)
        code = max(code, _FAILED) if why else code
        say(f"{folder}: {why or 'the report holds'}")
    raise typer.Exit(code)


@app.command(cls=Command)
def grade(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="students' folders")],
    lab_name: Annotated[str, _LAB] = "",
    to: Annotated[Path, typer.Option("--out", help="folder for grades.csv and grades.html")] = Path("grades"),
    jobs: Annotated[int, typer.Option(min=1, help="number of folders to check at the same time")] = 2,
) -> None:
    """Check every folder of a class with a new seed, and write a table as grades.csv and grades.html.

    A folder that contains students' folders stands for all of them. The table also has a line for an empty
    folder, and for code that never ends. The folders are not changed. A name that is no folder ends the
    command before it writes.

    Exit code 0: the table is written, with any grades; 2 or 3: the table is not written.
    """
    from harness.lessons.confined.landlock import keeps_reads
    from harness.lessons.folder import folders_of_class
    from harness.lessons.grades_page import NOT_CONFINED, as_html
    from harness.lessons.grading import as_csv
    from harness.lessons.grading import grade as grade_folders
    from harness.output import output_folder

    for folder in folders:
        if not folder.is_dir():
            refuse("FOLDER", f"{folder} is no folder; nothing was graded")
    every = [own for folder in folders for own in folders_of_class(folder)]
    folders = list({folder.resolve(): folder for folder in every}.values())
    with output_folder(to) as target, counting(len(folders), "folders") as advance:
        grades = grade_folders(folders, lab_name, jobs=jobs, on_grade=lambda _: advance())
        target.write("grades.csv", as_csv(grades))
        target.write("grades.html", as_html(grades))
    if not keeps_reads():
        say(f"note: {NOT_CONFINED}")
    for item in grades:
        stages = f"{item.passed} of {len(item.lab.stages)} stages" if item.lab else "no lab"
        first = "; ".join(filter(None, (item.note, *item.similar, *item.failures[:1])))
        say(f"{item.folder}: {stages}{': ' + first if first else ''}")
    say(f"{to}/grades.csv and {to}/grades.html have the table")
