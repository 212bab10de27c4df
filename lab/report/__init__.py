# SPDX-License-Identifier: Apache-2.0
"""Metrics of a run, result.json, and the report with its plots."""
