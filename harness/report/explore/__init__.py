# SPDX-License-Identifier: Apache-2.0
"""Parts of report.html that a reader works with: variants to switch, a time slider, a table to sort.

Its modules:

    data        values for the script, of bounded size
    parts       the controls as HTML, which say all that they can without the script
    explore.js  the script; it asks nothing of a network
    explore.css styles of the controls, of explanations and of the printed sheet
"""
