# SPDX-License-Identifier: Apache-2.0
"""A cross-connect with six endpoints in namespaces of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulation.mininet.benches import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(6, tmp_path) as bench:
        yield bench
