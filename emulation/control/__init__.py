# SPDX-License-Identifier: Apache-2.0
"""The control loop: node controllers driven by port events, hellos and notices of a running testbed."""
