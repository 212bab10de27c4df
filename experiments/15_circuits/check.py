# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and says what moved, what that did to the jobs, and who lacked what.

Exit code 1 when data is wrong, when a job lost a frame on circuits that had not failed, when circuits that
follow are no faster, or when a demand was not realised on ports that suffice for it.
"""

import sys
from pathlib import Path
from typing import Any

from railyard.command import result_of

HERE = Path(__file__).parent


def moved(result: dict[str, Any], variant: str) -> None:
    for change in result["reconfigurations"][variant]:
        kept, torn, created = (len(change[key]) for key in ("kept", "torn", "made"))
        when = f"{change['at_us']:g} to {change['stands_us']:g} us, {change['why']}"
        print(f"  {when}: {kept} circuits stayed, {torn} went, {created} came")
        for lack in change["lacks"]:
            low, high = lack["pods"]
            print(f"    job {lack['job']}: {lack['has']} of {lack['wanted']} between Pods {low} and {high}")


def follow() -> int:
    code, result = result_of(HERE / "scenario.yaml")
    moved(result, "follow")
    metrics = result["metrics"]
    for job in ("first", "second"):
        built, own = (metrics[f"{variant}.{job}.completion_us"] for variant in ("as-built", "follow"))
        print(f"{job} job: {built:.1f} us on circuits as built, {own:.1f} us on those that follow it")
    again = metrics["follow.first.retransmitted_frames"]
    print(f"frames that the running job sent twice: {again}")
    return code


def faults() -> int:
    code, result = result_of(HERE / "faults.yaml")
    for variant in ("port", "switch", "spine"):
        print(f"{variant}:")
        moved(result, variant)
    removed = next(
        change for change in result["reconfigurations"]["port"] if change["why"].startswith("no light")
    )
    print(f"all circuits on other ports: {'no' if removed['lacks'] else 'yes'}")
    return code or bool(removed["lacks"])


def main() -> int:
    code = follow() | faults()
    print(f"all that must be true is: {'no' if code else 'yes'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
