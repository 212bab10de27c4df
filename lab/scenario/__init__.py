# SPDX-License-Identifier: Apache-2.0
"""Scenario files: schema, loader, and messages that name file, line and key."""
