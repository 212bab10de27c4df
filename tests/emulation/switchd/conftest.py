# SPDX-License-Identifier: Apache-2.0
"""A switch with three interfaces in a namespace of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulation.switchd.switchd_process import SwitchdProcess


@pytest.fixture
def process(tmp_path: Path) -> Iterator[SwitchdProcess]:
    with SwitchdProcess(3, tmp_path) as process:
        yield process
