# SPDX-License-Identifier: Apache-2.0
"""The command line of railyard-switchd."""

import signal
from pathlib import Path

import pytest

from emulation.errors import EmulationError
from emulation.switchd.command import main
from emulation.switchd.options import SwitchOptions, parse


def refused(*arguments: str) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        parse(arguments)
    assert caught.value.remedy
    return caught.value


def test_bmv2s_command_line_is_taken_as_it_is(tmp_path: Path) -> None:
    """As the Mininet script of p4lang's tutorials writes it."""
    options = parse(
        [
            *(
                "-i",
                "1@s1-eth1",
                "-i",
                "2@s1-eth2",
                "--pcap",
                str(tmp_path),
                "--nanolog",
                "ipc:///tmp/bm-0-log.ipc",
            ),
            *("--device-id", "3", "build/basic.json", "--log-console", "--thrift-port", "9090"),
            *("--", "--grpc-server-addr", "0.0.0.0:50051", "--cpu-port", "510", "--priority-queues", "4"),
        ]
    )
    assert options.switches == (SwitchOptions(3, ((1, "s1-eth1"), (2, "s1-eth2"))),)
    assert (options.program, options.pcap, options.log_console) == (Path("build/basic.json"), tmp_path, True)
    assert (options.grpc_address, options.cpu_port, options.queues) == ("0.0.0.0:50051", 510, 4)
    assert [note.partition(" ")[0] for note in options.notes] == ["--thrift-port", "--nanolog"]


def test_the_least_command_line() -> None:
    options = parse(["--no-p4"])
    assert options.switches == (SwitchOptions(0, ()),)
    assert (options.grpc_address, options.cpu_port, options.program) == ("0.0.0.0:9559", None, None)


def test_many_switches() -> None:
    options = parse(["--switch", "1:1@a,2@b", "--switch", "2:1@c", "--switch", "3:", "--no-p4"])
    assert options.switches == (
        SwitchOptions(1, ((1, "a"), (2, "b"))),
        SwitchOptions(2, ((1, "c"),)),
        SwitchOptions(3, ()),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "no program"),
        ("--no-p4 -i eth0", "-i 'eth0'"),
        ("--no-p4 -i x@eth0", "-i 'x@eth0'"),
        ("--no-p4 -i 511@eth0", "below 511"),
        ("--no-p4 -i 1@a -i 1@b", "port 1 is given twice: 1@a and 1@b"),
        ("--no-p4 -i 1@a -i 2@a", "interface a is given twice"),
        ("--no-p4 -i 9@a --cpu-port 9", "9@a: 9 is the CPU port"),
        ("--no-p4 --cpu-port 511", "--cpu-port 511"),
        ("--no-p4 --drop-port 500", "--drop-port 500"),
        ("--no-p4 --priority-queues 9", "--priority-queues 9"),
        ("--no-p4 --queue-depth 0", "--queue-depth 0"),
        ("--no-p4 -i 1@a --rate 1:1=1000", "--rate '1:1=1000' names no switch"),
        ("--no-p4 -i 1@a --rate 0:2=1000", "--rate 0:2=1000 names no port"),
        ("--no-p4 -i 1@a --rate 0:1=0", "--rate 0:1=0 names no port of the switch, or no rate"),
        ("--no-p4 --pcap /no/such/place", "/no/such/place"),
        ("--no-p4 --switch 1:1@a -i 2@b", "--switch excludes -i"),
        ("--no-p4 --switch 1:1@a --switch 1:1@b", "device id 1 is given twice"),
        ("--no-p4 --switch 1@a", "--switch '1@a'"),
        ("--no-p4 --use-files 1", "--use-files is not supported"),
        ("--no-p4 --grpc-server-ssl", "--grpc-server-ssl is not supported"),
        ("--no-p4 --log-console --log-file x", "exclude each other"),
    ],
)
def test_a_bad_command_line_is_named(line: str, says: str) -> None:
    assert says in str(refused(*line.split()))


def test_a_program_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b'{"program": "\xff\xfe"}')
    assert main([str(bad)]) == 2
    assert f"{bad}: program: it is not the JSON of a BMv2 program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--no-p4", "-i", "1@nowhere0"], "port 1: there is no interface nowhere0"),
        (["/no/such.json"], "/no/such.json cannot be read: No such file"),
        ([__file__], "test_command.py: program: it is not the JSON"),
        (["--no-p4", "--", "--grpc-server-addr", "nonsense"], "cannot listen on nonsense"),
    ],
)
def test_it_does_not_start_on_what_cannot_be(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        assert main(arguments) == 2
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
        signal.set_wakeup_fd(-1)
    told = capsys.readouterr()
    assert says in told.err
    assert "Server listening" not in told.out


@pytest.mark.parametrize("option", ["--help", "--version", "--json-version"])
def test_it_tells_about_itself(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([option])
    assert ended.value.code == 0
    assert capsys.readouterr().out
