"""Every lab is in the guide for teachers, with the minutes that lab.yaml states."""

import re
from pathlib import Path

import pytest

from harness.lessons.catalogue import Lab, labs

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "teaching.md").read_text()


def test_there_are_nine_labs():
    assert [lab.number for lab in labs()] == list(range(1, 10))


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_the_guide_has_the_lab(lab: Lab):
    (row,) = re.findall(
        rf"^\| \[{lab.number} [^]]+\]\(\.\./labs/{lab.name}/README\.md\) .*$", GUIDE, re.MULTILINE
    )
    assert row.endswith(f"| {lab.minutes} |")
    _, _, plans = GUIDE.partition("Lab by lab:")
    assert f"\n| {lab.number} | " in plans.partition("Pictures for slides")[0]
