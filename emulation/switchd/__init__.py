# SPDX-License-Identifier: Apache-2.0
"""railyard-switchd: the engine as a process on Linux interfaces, in real time."""
