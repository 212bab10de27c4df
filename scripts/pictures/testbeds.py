# SPDX-License-Identifier: Apache-2.0
"""Processes and interfaces of the testbeds in real time, the P4Runtime server, the virtual machine."""

from __future__ import annotations

from scripts.pictures.svg import Box, arrow, picture, stroke, text

__all__ = ["cross_connect", "pipelines", "switchd", "virtual_machine"]


def cross_connect() -> str:
    """Draw a link of the Mininet testbed: namespaces, veth pairs, and the redirection between their ends."""
    parts = [
        *Box(10, 26, 120, 92, (), "quiet").svg(),
        text(70, 18, "railyard-ID-npu0", "title"),
        *Box(25, 46, 90, 44, ("agent", "of npu0")).svg(),
        *Box(170, 26, 420, 92, (), "quiet").svg(),
        text(380, 18, "railyard-ID-fabric", "title"),
        *Box(190, 46, 150, 44, ("switch of npu0", "a process")).svg(),
        *Box(420, 46, 150, 44, ("switch of npu1", "a process")).svg(),
        *Box(630, 26, 120, 92, (), "quiet").svg(),
        text(690, 18, "railyard-ID-npu1", "title"),
        *Box(645, 46, 90, 44, ("agent", "of npu1")).svg(),
        *Box(10, 170, 740, 96, (), "quiet").svg(),
        text(
            380,
            286,
            "railyard-ID-links, the cross-connect: tc redirects frames; each blue line is a veth pair",
            "title",
        ),
    ]
    endpoints = ((70, "eth0", "npu0-h"), (215, "npu0-0", "npu0-0"), (315, "npu0-1", "npu0-1"))
    endpoints += ((445, "npu1-1", "npu1-1"), (545, "npu1-0", "npu1-0"), (690, "eth0", "npu1-h"))
    for x, device, inner in endpoints:
        parts.append(stroke(f"M{x} 90V190", "blue"))
        parts.append(text(x + 6, 108, device, "small left"))
        parts += Box(x - 27, 190, 54, 26, ()).svg()
        parts.append(text(x, 207, inner))
    for start, end, words in ((97, 188, ""), (342, 418, "rate, loss, delay"), (572, 663, "")):
        parts += [arrow(f"M{start} 199H{end}"), arrow(f"M{end} 208H{start}")]
        parts.append(text((start + end) / 2, 234, words))
    return picture(760, 296, "A link of the Mininet testbed", parts)


def switchd() -> str:
    """Draw railyard-switchd between two hosts and a controller."""
    parts = [
        *Box(250, 10, 200, 40, ("controller", "any P4Runtime client")).svg(),
        arrow("M350 50V96"),
        text(358, 78, "gRPC, 127.0.0.1:9559", "small left"),
        *Box(190, 96, 320, 108, (), "quiet").svg(),
        text(350, 114, "railyard-switchd, device id 1", "title"),
        *Box(284, 126, 132, 62, ("engine", "runs the P4 program")).svg(),
        *Box(10, 140, 90, 34, ("host h1",)).svg(),
        *Box(600, 140, 90, 34, ("host h2",)).svg(),
        stroke("M100 157H190", "blue"),
        stroke("M510 157H600", "blue"),
        text(145, 150, "h1-eth0"),
        text(145, 172, "s1-eth1"),
        text(555, 150, "h2-eth0"),
        text(555, 172, "s1-eth2"),
        arrow("M190 157H284"),
        arrow("M416 157H510"),
        text(237, 150, "port 1"),
        text(463, 150, "port 2"),
        text(237, 172, "receive ring"),
        text(463, 172, "sendmmsg"),
    ]
    return picture(700, 214, "railyard-switchd on two Linux interfaces", parts)


def pipelines() -> str:
    """Draw the two pipelines of a switch, and the P4Runtime actions that save and commit one."""
    parts = [
        *Box(10, 60, 130, 66, ("client", "P4Runtime")).svg(),
        *Box(300, 20, 190, 56, ("saved pipeline", "Write and Read refer to it"), "quiet").svg(),
        *Box(300, 130, 190, 56, ("committed pipeline", "frames pass through it")).svg(),
        arrow("M140 74L300 48"),
        text(212, 40, "VERIFY_AND_SAVE"),
        arrow("M395 76V130"),
        text(404, 100, "COMMIT, between two frames", "small left"),
        arrow("M140 110L300 152"),
        text(214, 148, "VERIFY_AND_COMMIT: empty", "small right"),
        text(258, 164, "RECONCILE_AND_COMMIT: keeps state", "small right"),
        text(300, 206, "Write and Read refer to it when no pipeline is saved", "small left"),
    ]
    return picture(660, 216, "Saved and committed pipeline of a switch", parts)


def virtual_machine() -> str:
    """Draw the virtual machine, its folders and its forwarded ports."""
    parts = [
        *Box(10, 30, 200, 180, (), "quiet").svg(),
        text(110, 22, "your machine", "title"),
        *Box(26, 46, 168, 44, ("clone of Railyard", "edit here")).svg(),
        *Box(26, 104, 168, 40, ("browser", "127.0.0.1:8642, :8080")).svg(),
        *Box(26, 158, 168, 40, ("P4Runtime client", "127.0.0.1:9559")).svg(),
        *Box(360, 30, 250, 180, (), "quiet").svg(),
        text(485, 22, "virtual machine", "title"),
        *Box(376, 46, 218, 44, ("/home/vagrant/railyard", "own .venv and build; work/ beside it")).svg(),
        *Box(376, 104, 218, 40, ("live page, reports", "ports 8642 and 8080")).svg(),
        *Box(376, 158, 218, 40, ("make lab", "P4Runtime server, port 9559")).svg(),
        arrow("M194 68H376"),
        text(285, 60, "vagrant rsync"),
        arrow("M194 124H376"),
        arrow("M194 178H376"),
        text(285, 116, "forwarded"),
        text(285, 170, "forwarded"),
    ]
    return picture(620, 220, "The virtual machine and your machine", parts)
