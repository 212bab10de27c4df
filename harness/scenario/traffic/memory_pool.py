# SPDX-License-Identifier: Apache-2.0
"""A pool of memory as frozen values: lenders, borrowers, their pages and their operations."""

from __future__ import annotations

from typing import Annotated, Self, final

from pydantic import Field, model_validator

from emulation.traffic.memory.borrower import Mix
from emulation.traffic.memory.wire import MAX_BYTES
from harness.scenario.topology import Model, Positive
from harness.scenario.traffic.jobs import Members

__all__ = ["MixSettings", "PoolSettings"]

Weight = Annotated[int, Field(ge=0, le=1000)]


@final
class MixSettings(Model):
    """Weights of the kinds of operations.

    Attributes:
        load: Loads of `size` bytes.
        store: Stores of `size` bytes.
        fetch_add: Fetch-and-adds on borrowed words.
        compare_swap: Compare-and-swaps on borrowed words.
        counter: Fetch-and-adds on counters that all borrowers share.
        message: Messages of `size` bytes to the next borrower.
    """

    load: Weight = 40
    store: Weight = 30
    fetch_add: Weight = 10
    compare_swap: Weight = 10
    counter: Weight = 0
    message: Weight = 0


@final
class PoolSettings(Model):
    """Memory that nodes borrow from CPUs and from each other, and what they do with it.

    Attributes:
        lenders: Nodes that lend memory, by name: CPUs or NPUs.
        borrowers: NPUs that borrow: all (None), the first so many, or nodes and ranges of nodes by name.
        lent_kib: Memory that each lender lends.
        page_bytes: Size of a page.
        pages: Pages of each borrower.
        copies: Lenders that hold each page.
        counters: Words that all borrowers add to.
        counter_lender: Lender of these words, the first by default.
        operations: Operations of each borrower.
        size: Bytes of a load, store or message.
        mix: Weights of the kinds of operations.
        window: Operations of a borrower on a lender that may be without a response.
        timeout_us: Silence after which a lender is given up.
    """

    lenders: Annotated[tuple[str, ...], Field(min_length=1)]
    borrowers: Members | None = None
    lent_kib: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    page_bytes: Annotated[int, Field(ge=64, le=1 << 20, multiple_of=64)] = 4096
    pages: Annotated[int, Field(ge=1, le=4096)] = 4
    copies: Annotated[int, Field(ge=1, le=2)] = 1
    counters: Annotated[int, Field(ge=0, le=1024)] = 0
    counter_lender: str | None = None
    operations: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    size: Annotated[int, Field(ge=8, le=MAX_BYTES // 8 * 8, multiple_of=8)] = 64
    mix: MixSettings = MixSettings()
    window: Annotated[int, Field(ge=1, le=1024)] = 16
    timeout_us: Positive = 100.0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.size > self.page_bytes:
            raise ValueError(f"`size: {self.size}` is larger than a page of {self.page_bytes} bytes")
        if bool(self.mix.counter) != bool(self.counters):
            raise ValueError(
                "`counters:` and the weight `counter:` of the mix go together; give both or none"
            )
        if not any(weight for _, weight in self.weights.kinds):
            raise ValueError("all weights of the mix are 0; give at least one")
        return self

    @property
    def weights(self) -> Mix:
        """The mix of operations."""
        return Mix(**self.mix.model_dump(), size=self.size)
