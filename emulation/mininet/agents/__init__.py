# SPDX-License-Identifier: Apache-2.0
"""The processes that run the hosts' agents in real time, and what they report."""
