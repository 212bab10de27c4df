"""Print what planner.py answers to example.json: circuits between Pods beside the demand, and moves."""

import json
from collections import Counter
from pathlib import Path

from planner import plan


def count(maps):
    """Return the circuits between two Pods, the lower Pod first."""
    return Counter((min(i, j), max(i, j)) for row in maps for i, j in enumerate(row) if j >= 0)


problem = json.loads(Path("example.json").read_text())
answer = plan(problem)
before, after = count(problem["standing"]), count(answer["circuits"])
print("Pods  before  after  demand")
for a in range(problem["pods"]):
    for b in range(a + 1, problem["pods"]):
        wanted = problem["demand"][a][b]
        print(
            f"{a}, {b}  {before[a, b]:6}  {after[a, b]:5}  {wanted:6}",
            "  too few" if after[a, b] < wanted else "",
        )
moved = sum(
    new >= 0 and new != old
    for rows in zip(answer["circuits"], problem["standing"], strict=True)
    for new, old in zip(*rows, strict=True)
)
print(f"{moved} circuits set up, budget {problem['budget']}; times {answer['times_us']}")
