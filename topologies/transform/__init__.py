# SPDX-License-Identifier: Apache-2.0
"""Fabrics derived from a fabric: spares in service, optical circuits set up."""
