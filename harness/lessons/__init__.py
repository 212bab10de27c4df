# SPDX-License-Identifier: Apache-2.0
"""The lesson engine: students start, complete and check labs; teachers grade them.

A lab is a folder of `labs/` with lab.yaml, README.md, starter/ and check.py; `labs/solutions/` has the
solution of each stage. A check runs in a separate process and measures frames, counters and tables. A
student's Python code runs in a further process, which is confined and exchanges only JSON.

    catalogue   read labs and their stages from lab.yaml
    folder      a student's folder: start a lab, take hints, record progress, restore a stage
    attempt     input of a stage's check, and the verdict that the check returns
    p4_program  the P4 program of a lab with the student's file: compiled, or shipped with the starter
    scripted_host    a host that sends given frames and keeps all arriving frames
    numbered_frames  numbered frames between hosts, to count lost frames
    confined/   run a student's code in a process with limits
    checker     check all stages of a folder in a separate process
    report      write, read and verify report.json of a check
    similarity  compare a student's files with other folders and solutions
    grading     grade the folders of a class in a table: CSV and HTML
"""
