# SPDX-License-Identifier: Apache-2.0
"""The lab's virtual machine: its Vagrantfile, and what provisions it, with stand-ins for whatever acts."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "scripts").glob("*.sh"))
GUIDE = (ROOT / "docs" / "testbeds" / "vagrant.md").read_text()

# A Vagrant that only writes down what it is told.
RECORDER = """
class Told < BasicObject
  def initialize(path) = @path = path
  def method_missing(name, *given, **more, &block)
    path = "#{@path}.#{name.to_s.delete_suffix('=')}"
    $stdout.puts "#{path} #{[*given, *more.map { |key, value| "#{key}: #{value}" }].join(', ')}"
    inner = ::Told.new([path, *given].join("."))
    block.call(inner, inner) if block
    inner
  end
  def respond_to_missing?(*) = true
end
module Vagrant
  def self.configure(version) = yield(Told.new("config"))
end
load ARGV[0]
"""


def told(**environment: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    command = ["ruby", "-e", RECORDER, str(ROOT / "Vagrantfile")]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


class TestMachine:
    def test_it_is_ruby(self):
        if shutil.which("ruby") is None:
            pytest.skip("ruby is not installed")
        checked = subprocess.run(
            ["ruby", "-c", ROOT / "Vagrantfile"], capture_output=True, text=True, check=False
        )
        assert checked.stdout == "Syntax OK\n", checked.stderr

    def test_both_providers_get_what_is_asked(self):
        lines = told(RAILYARD_BOX="debian-12", RAILYARD_CPUS="3", RAILYARD_MEMORY="2048").stdout.splitlines()
        assert "config.vm.box bento/debian-12" in lines
        assert "config.vm.provider.libvirt.vm.box cloud-image/debian-12" in lines
        for provider in ("virtualbox", "libvirt"):
            assert f"config.vm.provider.{provider}.cpus 3" in lines
            assert f"config.vm.provider.{provider}.memory 2048" in lines

    def test_a_box_of_ones_own(self):
        lines = told(RAILYARD_BOX="debian/bookworm64").stdout.splitlines()
        assert [line for line in lines if "vm.box" in line] == ["config.vm.box debian/bookworm64"]
        refused = told(RAILYARD_BOX="debian-13")
        assert refused.returncode != 0
        assert "RAILYARD_BOX=debian-13 is none of debian-12, ubuntu-22.04, ubuntu-24.04" in refused.stderr

    def test_ports_are_for_this_computer_only(self):
        forwarded = [line for line in told().stdout.splitlines() if "forwarded_port" in line]
        assert [re.search(r"guest: (\d+)", line)[1] for line in forwarded] == ["8080", "9559"]  # type: ignore[index]
        assert all("host_ip: 127.0.0.1" in line for line in forwarded)

    def test_what_is_built_here_does_not_go_over_but_the_compiled_programs_do(self):
        (folder,) = [line for line in told().stdout.splitlines() if "type: rsync" in line]
        # The slash in front: only those of the clone itself, not p4/build.
        assert all(f'"/{name}/"' in folder for name in (".venv", "build", "results"))
        assert '"build' not in folder

    def test_it_is_provisioned_by_the_scripts(self):
        text = (ROOT / "Vagrantfile").read_text()
        paths = re.findall(r'path: "([^"]+)"', text)
        assert paths == ["scripts/provision.sh", "scripts/login.sh"]
        assert all(os.access(ROOT / path, os.X_OK) for path in paths)

    def test_the_guide_has_every_box_and_setting(self):
        text = (ROOT / "Vagrantfile").read_text()
        (releases,) = re.findall(r"RELEASES = %w\[(.*)\]", text)
        for name in {*releases.split(), *re.findall(r"RAILYARD_\w+", text)}:
            assert f"`{name}`" in GUIDE


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
class TestScripts:
    def test_it_parses(self, script: Path):
        checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr

    def test_shellcheck_finds_nothing(self, script: Path):
        if shutil.which("shellcheck") is None:
            pytest.skip("shellcheck is not installed")
        checked = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
        assert checked.stdout == ""

    def test_it_can_be_called(self, script: Path):
        assert os.access(script, os.X_OK)


# Nothing of this reaches the machine: who calls is no root, and the sudo it asks writes to the test's folder.
STAND_INS = {
    "id": "echo 1000",
    "sudo": """
        echo "$*" >>"$PLACE/calls"
        case $1 in tee) cat >"$PLACE/${2##*/}" ;; rm) rm -f "$PLACE/p4lang.gpg" "$PLACE/p4lang.list" ;; esac
        case "$*" in *"apt-get -qq install"*p4lang*) [ -z "${BROKEN:-}" ] ;; esac""",
    "curl": 'case "$*" in *"$OFFERS"*Release.key*) echo key ;; *) exit 22 ;; esac',
    "gpg": "grep key",
    "apt-cache": """
        case $1 in
            policy) echo "$2:"; if grep -qs p4lang "$PLACE/p4lang.list"; then echo "  Candidate: 1.15"
                    else echo "  Candidate: (none)"; fi ;;
            show) [ -n "${EXTRA:-}" ] ;;
        esac""",
    "modprobe": '[ -n "${NETEM:-}" ]',
    "dpkg": "echo arm64",
    "make": 'echo "make $*" >>"$PLACE/calls"',
}


class TestProvisioning:
    @pytest.fixture
    def provision(self, tmp_path: Path):
        """Runs the script in a folder of stand-ins, on the release and with the repositories given."""
        stand_ins = tmp_path / "stand-ins"
        stand_ins.mkdir()
        for name, body in STAND_INS.items():
            (stand_ins / name).write_text(f"#!/bin/bash\n{body}\n")
            (stand_ins / name).chmod(0o755)
        # bash, and what only reads; a BMv2 of this machine is not among them.
        for name in ("bash", "cat", "cut", "dirname", "env", "grep", "printf", "rm", "uname"):
            (stand_ins / name).symlink_to(str(shutil.which(name)))
        script = (ROOT / "scripts" / "provision.sh").read_text()
        for place in ("/etc/os-release", "/usr/sbin:/sbin"):
            assert place in script
        script = script.replace("/etc/os-release", f"{tmp_path}/os-release").replace(":/usr/sbin:/sbin", "")
        (tmp_path / "provision.sh").write_text(script)

        def run(release: str, offers: str = "nothing", **environment: str) -> tuple[str, list[str]]:
            distribution, _, version = release.partition("-")
            (tmp_path / "os-release").write_text(f'ID={distribution}\nVERSION_ID="{version}"\n')
            done = subprocess.run(
                [str(shutil.which("bash")), tmp_path / "provision.sh", tmp_path],
                env={"PATH": str(stand_ins), "PLACE": str(tmp_path), "OFFERS": offers, **environment},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout, (tmp_path / "calls").read_text().splitlines()

        return run

    def test_it_ends_with_the_same_setup_as_everywhere(self, provision):
        _, calls = provision("debian-12")
        assert calls[-1] == "make setup"
        assert "scripts/setup.sh" in (ROOT / "Makefile").read_text()

    @pytest.mark.parametrize(
        ("release", "offers"),
        [
            ("ubuntu-22.04", "home:/p4lang:/latest/xUbuntu_22.04"),
            ("ubuntu-24.04", "home:/p4lang/xUbuntu_24.04"),
            ("debian-12", "home:/p4lang/Debian_12"),
        ],
    )
    def test_bmv2_and_p4c_come_from_the_first_repository_that_has_them(
        self, provision, tmp_path: Path, release: str, offers: str
    ):
        said, calls = provision(release, offers)
        assert f"BMv2 and p4c come from https://download.opensuse.org/repositories/{offers}" in said
        assert any(call.endswith("install -y p4lang-bmv2 p4lang-p4c") for call in calls)
        assert (tmp_path / "p4lang.list").read_text() == (
            "deb [signed-by=/etc/apt/keyrings/p4lang.gpg] "
            f"https://download.opensuse.org/repositories/{offers}/ /\n"
        )

    @pytest.mark.parametrize("more", [{}, {"OFFERS": "p4lang", "BROKEN": "yes"}])
    def test_without_packages_it_says_so_and_goes_on(self, provision, tmp_path: Path, more: dict[str, str]):
        said, calls = provision("debian-12", **more)
        assert "no packages of BMv2 and p4c for Debian_12 on arm64; the built-in switch" in said
        assert not (tmp_path / "p4lang.list").exists()
        assert calls[-1] == "make setup"

    def test_another_distribution_is_left_alone(self, provision):
        said, calls = provision("fedora-41", "fedora")
        assert "packages for Debian and Ubuntu only" in said
        assert not any("p4lang" in call for call in calls)

    def test_netem_is_installed_where_it_is_missing(self, provision):
        assert any(
            "install -y linux-modules-extra-" in call for call in provision("ubuntu-22.04", EXTRA="1")[1]
        )

    def test_netem_that_is_there_is_left_alone(self, provision):
        said, calls = provision("ubuntu-22.04", NETEM="1", EXTRA="1")
        assert "sch_netem" not in said
        assert not any("linux-modules" in call for call in calls)


def test_setup_takes_only_names_it_knows():
    done = subprocess.run(
        [ROOT / "scripts" / "setup.sh", "everything"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "setup: everything is neither base nor lab\n")


def test_a_login_opens_in_the_clone_with_the_labs(tmp_path: Path):
    clone, home = tmp_path / "my clone", tmp_path / "home"
    (clone / ".venv" / "bin").mkdir(parents=True)
    command = clone / ".venv" / "bin" / "railyard"
    command.write_text('#!/bin/sh\necho "labs of $PWD: $*"\n')
    command.chmod(0o755)
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for _ in range(2):
        subprocess.run([ROOT / "scripts" / "login.sh", clone], env=environment, check=True)

    def login(*options: str) -> str:
        shell = ["bash", *options, "-c", "pwd"]
        done = subprocess.run(
            shell,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            cwd=home,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout

    assert login("-l", "-i").splitlines() == [f"labs of {clone}: lab list", str(clone)]
    # A command over ssh, such as that of rsync, prints nothing of its own.
    assert login("-l").splitlines() == [str(home)]
