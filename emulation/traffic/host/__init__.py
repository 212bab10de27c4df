# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU, sans-IO: transport, connections, iterations and statistics."""
