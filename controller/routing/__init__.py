# SPDX-License-Identifier: Apache-2.0
"""The paths that a pair of endpoints uses, the share of traffic on each, and their source-route headers."""
