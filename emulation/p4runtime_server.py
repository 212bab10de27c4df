# SPDX-License-Identifier: Apache-2.0
"""One gRPC server that speaks P4Runtime for every switch of a network, one device id a switch."""

from emulation.p4runtime import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
