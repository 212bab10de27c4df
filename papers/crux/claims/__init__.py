# SPDX-License-Identifier: Apache-2.0
"""Claims of the Crux paper, each computed or measured when asked."""
