# SPDX-License-Identifier: Apache-2.0
"""The virtual clock of a rank, advanced by computation and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, final

__all__ = ["Clock", "counting"]

_PS = 10**12


@final
class Clock:
    """Virtual time of a rank, in ps.

    With `tflops`, counted floating-point operations take time at this rate, and a run repeats exactly.
    Otherwise the processor time of the thread, multiplied by `scale`, advances the clock; with a scale of 0,
    only declared time does.
    """

    def __init__(self, tflops: float | None, scale: float = 0.0) -> None:
        self._rate = None if tflops is None else tflops * 10**12
        self._scale = scale
        self._ps = 0
        self._flops = 0
        self._since = time.thread_time()

    def add_flops(self, count: int) -> None:
        """Count floating-point operations."""
        self._flops += count

    def add_ps(self, amount: int) -> None:
        """Advance the clock by `amount` ps of declared computation."""
        self._ps += amount

    def now_ps(self) -> int:
        """Return the virtual time of the rank in ps."""
        if self._rate is not None:
            self._ps += round(self._flops * _PS / self._rate)
            self._flops = 0
        elif self._scale:
            used = time.thread_time()
            self._ps += round((used - self._since) * self._scale * _PS)
            self._since = used
        return self._ps

    def advance_to(self, time_ps: int) -> None:
        """Advance the clock to the end of a wait; processor time of the wait itself does not count."""
        self._ps = max(self._ps, time_ps)
        self._since = time.thread_time()


def counting(clock: Clock) -> Any:
    """Return a context in which floating-point operations advance `clock`, by PyTorch's flop formulas.

    Attention on a CPU, for which PyTorch has no formula, counts like attention on a GPU. Operations of tensor
    subclasses such as DTensor count as the operations of their local tensors.
    """
    from torch import Tensor
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.nn import Parameter
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    plain = {Tensor, Parameter}
    formulas: Mapping[Any, Callable[..., int]] = {**_attention_on_a_processor(), **flop_registry}

    class Counting(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            if any(issubclass(kind, FakeTensor) for kind in types):
                return func(*args, **kwargs)  # only shapes are derived, so no operation counts
            if not plain.issuperset(types):
                return NotImplemented
            packet = getattr(func, "_overloadpacket", None)
            if packet not in formulas and packet is not None:
                with self:
                    parts = func.decompose(*args, **kwargs)
                if parts is not NotImplemented:
                    return parts
            result = func(*args, **kwargs)
            if packet in formulas and not _is_meta(result):
                clock.add_flops(int(formulas[packet](*args, **kwargs, out_val=result)))
            return result

    return Counting()


def _attention_on_a_processor() -> dict[Any, Callable[..., int]]:
    """Return flop formulas for attention on a CPU, equal to the formulas for a GPU."""
    from torch import ops
    from torch.utils.flop_counter import flop_registry

    aten = ops.aten
    forward = flop_registry[aten._scaled_dot_product_flash_attention]
    backward = flop_registry[aten._scaled_dot_product_flash_attention_backward]
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }


def _is_meta(result: Any) -> bool:
    """Return whether a result is a meta tensor (a shape without data)."""
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    return bool(getattr(first, "is_meta", False))
