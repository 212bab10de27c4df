# SPDX-License-Identifier: Apache-2.0
"""Reading and checking of files of claims; an error lists all faults, with FILE:LINE and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from pydantic import ValidationError

from harness.errors import ScenarioError
from harness.files import EXPERIMENTS
from harness.scenario.document import Document, Location
from harness.scenario.explain import explain
from harness.scenario.loader import relocated
from papers.claims.check import Check
from papers.claims.claim import Claim, Interval, Kind, Mutation
from papers.claims.expression import Expression
from papers.claims.figures.sources import ASSERTIONS, ModelSource, ScenarioSource, Source
from papers.claims.form.schema import CheckSettings, FileSettings
from topologies.errors import RailyardError, suggestion

__all__ = ["ClaimFile", "read_claims"]

# Keys of a claim; its name is the key before it.
_KEYS = [key for key in Claim.model_fields if key != "name"]

# Keys of result.json that an expression may read in addition to metrics.
_RESULT_KEYS = frozenset(
    ("assertions", "bounds", "cut_off", "deadlocks", "faults", "metrics", "operations", "reconfigurations")
) | {"takeovers"}


@final
@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A checked file of claims of a paper or a study; `files` are further files that its checks read."""

    path: Path
    name: str
    title: str
    description: str
    files: tuple[Path, ...]
    checks: tuple[Check, ...]
    document: Document = field(repr=False, compare=False)

    def check(self, name: str) -> Check:
        """Return the check `name`; KeyError if there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def examine(self, checks: Sequence[Check]) -> None:
        """Check all names in the sources of `checks`: functions, arguments, scenarios, keys and figures.

        Raises:
            ScenarioError: One line for each fault, with the line of the file.
        """
        faults = dict.fromkeys(str(fault) for check in checks for fault in self._faults(check))
        if faults:
            raise ScenarioError.joined([*faults])

    def _faults(self, check: Check) -> Iterator[ScenarioError]:
        at: Location = ("checks", check.name)
        key = "model" if isinstance(check.source, ModelSource) else "scenario"
        try:
            check.source.check()
            known = check.source.names()
        except RailyardError as ex:
            yield relocated(self.document, (*at, key), ex)
            return
        for claim in check.claims:
            own: Location = (*at, "claims", claim.name, "mutation")
            shared = (*at, "common", "mutation")
            where = own if self.document.depth(own) == len(own) else shared
            if claim.mutation is not None and claim.mutation.parameters:
                try:
                    check.source.changed(claim.mutation.parameters).check()
                except RailyardError as ex:
                    yield relocated(self.document, where, ex)
            for name in _unknown(claim, known):
                remedy = suggestion(name, known or (), "see `railyard list --metrics`")
                fault = RailyardError(f"no figure {name!r}", remedy=remedy)
                yield relocated(self.document, (*at, "claims", claim.name, "value"), fault)


def _unknown(claim: Claim, known: Sequence[str] | None) -> Iterator[str]:
    """Yield the unknown figures of a claim: neither metrics nor keys of result.json."""
    if known is None:
        return
    beginnings = tuple(name for name in known if name.endswith("."))
    mutated = claim.mutation.value if claim.mutation is not None else ""
    expressions = [Expression(text) for text in (claim.value or claim.name, mutated) if text]
    for name in dict.fromkeys(name for expression in expressions for name in expression.names):
        if (
            name not in known
            and not name.startswith(beginnings)
            and name.partition(".")[0] not in _RESULT_KEYS
        ):
            yield name


def read_claims(path: Path) -> ClaimFile:
    """Read and check a file of claims.

    Paths in the file are relative to its folder. `ClaimFile.examine` later checks that scenarios and models
    exist and have the named keys, arguments and figures.

    Raises:
        ScenarioError: One line for each fault, with FILE:LINE and a remedy.
    """
    document = Document(path)
    if "checks" not in document.values and "topology" in document.values:
        raise ScenarioError(
            f"{path} is a scenario and has no claims",
            remedy=f"`railyard run {path}` runs it; claims have a file of their own",
        )
    document = _completed(document)
    try:
        settings = FileSettings.model_validate(document.values, context={"folder": document.folder})
    except ValidationError as ex:
        lines = explain(document, ex, FileSettings)
        raise ScenarioError.joined([line.replace("the scenario", "the file") for line in lines]) from None
    files = tuple(document.folder / name for name in settings.files)
    checks = tuple(_check(name, check, document.folder, files) for name, check in settings.checks.items())
    about = (settings.name, settings.title, settings.description)
    return ClaimFile(path, *about, files, checks, document)


def _completed(document: Document) -> Document:
    """Return the document with whole claims.

    Each claim has the keys of its check's `common`; a claim with `cases` becomes a claim for each case.
    Values that are no mappings stay unchanged, so that the schema reports them.

    Raises:
        ScenarioError: A case has faults.
    """
    checks = document.values.get("checks")
    if not isinstance(checks, dict):
        return document
    completed, faults = {}, list[str]()
    origins: dict[Location, Location] = {}
    for name, check in checks.items():
        claims = check.get("claims") if isinstance(check, dict) else None
        common = check.get("common", {}) if isinstance(check, dict) else {}
        if isinstance(common, dict) and isinstance(claims, dict):
            whole: dict[str, Any] = {}
            at = ("checks", name, "claims")
            for key, claim in claims.items():
                try:
                    for slug, own in _by_case(key, {**common, **claim} if isinstance(claim, dict) else claim):
                        if slug in whole:
                            raise RailyardError(
                                f"two claims have the name {slug!r}", remedy="put a {placeholder} in the name"
                            )
                        whole[slug] = own
                        origins |= {(*at, slug): (*at, key)} if slug != key else {}
                except RailyardError as ex:
                    faults.append(str(relocated(document, (*at, key), ex)))
            check = {**check, "claims": whole}
        completed[name] = check
    if faults:
        raise ScenarioError.joined(faults)
    return document.with_values({**document.values, "checks": completed}, origins)


def _by_case(name: str, claim: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and values of a claim, or of each of its cases."""
    cases = claim.get("cases") if isinstance(claim, dict) else None
    if not isinstance(cases, tuple) or not all(isinstance(case, dict) for case in cases):
        yield name, claim
        return
    for case in cases:
        own = {**claim, **{key: value for key, value in case.items() if key in _KEYS}}
        del own["cases"]
        for key in case:
            if key not in _KEYS and f"{{{key}" not in f"{name}{own}":
                raise RailyardError(
                    f"a case of {name!r} has {key!r}, which is neither a key of a claim nor a placeholder",
                    remedy=suggestion(key, _KEYS),
                )
        try:
            yield _filled(name, case), _filled(own, case)
        except (LookupError, ValueError) as ex:
            raise RailyardError(
                f"a case of {name!r} has no value for the placeholder {ex}",
                remedy="give each case a value for every {placeholder}",
            ) from None


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """Return a value with placeholders in its texts replaced by words, as `str.format` does."""
    if isinstance(value, str):
        return value.format_map(words)
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    return tuple(_filled(item, words) for item in value) if isinstance(value, tuple) else value


def _check(name: str, settings: CheckSettings, folder: Path, files: tuple[Path, ...]) -> Check:
    claims = [claim.model_copy(update={"name": slug}) for slug, claim in settings.claims.items()]
    source: Source
    if settings.model is not None:
        source = ModelSource(settings.model, settings.arguments, settings.picture, files)
    else:
        assert settings.scenario is not None
        source = ScenarioSource(
            tuple(_scenario(file, folder) for file in settings.scenario),
            settings.variants,
            settings.set,
            settings.fail_each,
            settings.repeats,
            settings.derive,
            settings.picture,
        )
        if not source.fail_each and all(claim.value != ASSERTIONS for claim in claims):
            claims = [_assertions(", ".join(settings.scenario)), *claims]
    return Check(name, settings.title, tuple(claims), source, settings.long, settings.alone)


def _assertions(scenarios: str) -> Claim:
    """Return the claim that no assertion of the scenarios fails; `_check` adds it to checks of scenarios."""
    return Claim(
        name="assertions",
        text=f"assertions of {scenarios} that fail",
        place=scenarios,
        kind=Kind.derived,
        holds=Interval(0, 0),
        mutation=Mutation(shift=1),
        unit="assertions",
        value=ASSERTIONS,
    )


def _scenario(file: str, folder: Path) -> Path:
    """Return the path of a scenario in the folder; else of one in the experiments that come with Railyard."""
    shipped = EXPERIMENTS / file
    return shipped if not (folder / file).exists() and shipped.is_file() else folder / file
