# SPDX-License-Identifier: Apache-2.0
"""Collectives as data: directed acyclic graphs of sends, their proof, and their cut into frames."""
