# SPDX-License-Identifier: Apache-2.0
"""`pool:` of a scenario: a memory pool of lenders, borrowers, pages and operations, as frozen models."""

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
    """Weights with which a borrower draws the kind of its next operation.

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
    """Memory borrowed by NPUs from CPUs and other NPUs, and the operations on borrowed memory.

    Attributes:
        lenders: Names of the nodes that lend memory, CPUs or NPUs.
        borrowers: All NPUs (None), the first N NPUs (a number), or a list of nodes and ranges of nodes.
        lent_kib: Memory that each lender lends.
        page_bytes: Size of a page.
        pages: Number of pages of each borrower.
        copies: Number of lenders that hold a copy of each page.
        counters: Number of shared words to which all borrowers add.
        counter_lender: Lender of the shared words, the first lender by default.
        operations: Number of operations of each borrower.
        size: Bytes of a load, store or message.
        mix: Weights of the kinds of operations.
        window: Operations that a borrower may have outstanding, without a response, on each lender.
        timeout_us: Time without a response after which a borrower gives a lender up.
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
            raise ValueError(
                f"`size: {self.size}` is larger than a page of {self.page_bytes} bytes; give a smaller "
                "`size:` or larger `page_bytes:`"
            )
        if bool(self.mix.counter) != bool(self.counters):
            raise ValueError(
                "only one of `counters:` and the weight `counter:` of the mix is given; give both or none"
            )
        if not any(weight for _, weight in self.weights.kinds):
            raise ValueError("all weights of the mix are 0; give at least one")
        return self

    @property
    def weights(self) -> Mix:
        """Weights and size of the operations, as a Mix for borrowers."""
        return Mix(**self.mix.model_dump(), size=self.size)
