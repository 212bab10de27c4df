# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and says what is true of them; exit code 1 when something is not.

With --all every GPU and every switch fails in turn, too.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from papers.checking.statements import metrics_table
from railyard.command import result_of, sweep_of

HERE = Path(__file__).parent
SHOWN = ("completion_us", "correct_npus", "sent_frames", "takeovers", "takeover_us", "entries_rewritten")
VARIANTS = ("healthy", "gpu", "nic", "rail", "domain", "second")
BELOW_RAIL1 = ["gpu1", "gpu5", "gpu9", "gpu13"]

# Variant of bare.yaml -> how it says who was lost.
LOST = {
    "gpu": "gpu5 is cut off at 3.4 us: no link is left, and no optical switch could lead spare1",
    "nic": "gpu5 is cut off at 3.4 us: no link to the network between domains is left",
    "rail": "gpu1, gpu5, gpu9, gpu13 are cut off at 3.4 us: no link to the network between domains is left",
}


def healed() -> Iterator[tuple[str, bool]]:
    code, result = result_of(HERE / "scenario.yaml")
    print(metrics_table(result["metrics"], SHOWN, VARIANTS))
    yield "all assertions hold", code == 0
    took = {
        name: [(item["npu"], item["spare"]) for item in all_] for name, all_ in result["takeovers"].items()
    }
    yield "an idle GPU for a GPU and for a NIC", took["gpu"] == took["nic"] == [("gpu5", "spare1")]
    (rail,) = result["takeovers"]["rail"]
    yield "a spare switch for a rail switch", took["rail"] == [("rail1", "sparerail0")]
    yield "only the GPUs of its rail had lost the network", rail["without"] == BELOW_RAIL1
    (domain,) = result["takeovers"]["domain"]
    moved = [["gpu5", "gpu17"], ["gpu6", "gpu18"], ["gpu7", "gpu19"]]
    yield "an idle domain for a domain", took["domain"] == [("gpu4", "gpu16")] and domain["along"] == moved
    yield "and for a GPU when no idle one is left", took["second"][1] == ("gpu6", "gpu18")


def lost() -> Iterator[tuple[str, bool]]:
    code, result = result_of(HERE / "bare.yaml")
    said = result["cut_off"]
    yield "without optical switches every run halts", code == 0
    for variant, words in LOST.items():
        yield f"{variant}: {words}", said[variant].startswith(words)


def in_turn(folder: Path) -> Iterator[tuple[str, bool]]:
    for kind in ("npu", "switch"):
        code, metrics = sweep_of(HERE / "scenario.yaml", kind, "gpu", folder / kind)
        right, runs = metrics["correct_runs"], metrics["runs"]
        yield f"every {kind} in turn: {right} of {runs} right", code == 0 and right == runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="every GPU and every switch in turn, too: a minute"
    )
    everything = parser.parse_args().all
    with tempfile.TemporaryDirectory() as name:
        facts = [*healed(), *lost(), *(in_turn(Path(name)) if everything else ())]
    for words, is_so in facts:
        print(f"{'yes' if is_so else 'NO'}: {words}")
    return 0 if all(is_so for _, is_so in facts) else 1


if __name__ == "__main__":
    sys.exit(main())
