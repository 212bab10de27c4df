# SPDX-License-Identifier: Apache-2.0
"""Verbs for papers' claims and models: `railyard experiments`, `model`."""
