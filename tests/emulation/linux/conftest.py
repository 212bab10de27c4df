# SPDX-License-Identifier: Apache-2.0
"""The test bench of a cross-connect, whose interfaces lose and regain their carriers."""

from tests.emulation.mininet.conftest import bench

__all__ = ["bench"]
