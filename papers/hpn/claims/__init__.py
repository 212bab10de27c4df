# SPDX-License-Identifier: Apache-2.0
"""Claims of the HPN paper, each computed or measured when asked."""
