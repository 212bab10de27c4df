# SPDX-License-Identifier: Apache-2.0
"""Alibaba HPN: the paper's claims."""
