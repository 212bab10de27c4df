# SPDX-License-Identifier: Apache-2.0
"""Claims of the Rail-only paper, each computed or measured when asked."""
