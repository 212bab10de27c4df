# SPDX-License-Identifier: Apache-2.0
"""Floating-point operations that a rank's clock counts."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

import torch
from torch.nn.functional import scaled_dot_product_attention

from railyard.torch.clock import Clock, counting

# Rate at which an operation takes a microsecond.
RATE = 1e-6


def counted(computation):
    clock = Clock(RATE)
    with counting(clock):
        computation()
    return clock.now_ps() // 10**6


def test_a_product_counts_two_operations_a_pair_forward_and_four_backward():
    left, right = torch.randn(3, 5, requires_grad=True), torch.randn(5, 7, requires_grad=True)
    assert counted(lambda: left @ right) == 2 * 3 * 5 * 7
    assert counted(lambda: (left @ right).sum().backward()) == 3 * 2 * 3 * 5 * 7


def test_attention_counts_two_products_forward_and_five_backward():
    heads, tokens, width = 4, 16, 8
    inputs = [torch.randn(1, heads, tokens, width, requires_grad=True) for _ in range(3)]
    product = 2 * heads * tokens * tokens * width
    assert counted(lambda: scaled_dot_product_attention(*inputs, is_causal=True)) == 2 * product
    assert counted(lambda: scaled_dot_product_attention(*inputs).sum().backward()) == (2 + 5) * product
