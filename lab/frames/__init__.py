# SPDX-License-Identifier: Apache-2.0
"""One frame built, sent, captured and followed by hand."""
