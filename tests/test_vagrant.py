# SPDX-License-Identifier: Apache-2.0
"""The lab's virtual machine: its Vagrantfile, and what provisions it, with stand-ins for whatever acts."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from railyard.web.server import ADDRESS_VARIABLE, HOST_VARIABLE

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


def rsync_arguments(folder: str) -> list[str]:
    """Return the arguments of rsync that the Vagrantfile names, from the recorded line of its folder."""
    return re.findall(r'"([^"]+)"', folder.partition("rsync__args: ")[2].partition("]")[0])


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
        pairs = [re.search(r"guest: (\d+), host: (\d+)", line).groups() for line in forwarded]  # type: ignore[union-attr]
        assert pairs == [("8642", "8642"), ("8080", "8080"), ("9559", "9559")]
        assert all("host_ip: 127.0.0.1" in line for line in forwarded)

    def test_ports_of_this_computer_may_be_chosen_and_the_login_learns_that_of_the_page(self):
        chosen = {"PAGE": "9001", "REPORTS": "9002", "P4RUNTIME": "9003"}
        lines = told(**{f"RAILYARD_{name}_PORT": port for name, port in chosen.items()}).stdout.splitlines()
        forwarded = [line for line in lines if "forwarded_port" in line]
        assert [line.partition(", host: ")[2][:4] for line in forwarded] == [*chosen.values()]
        (login,) = [line for line in lines if "scripts/login.sh" in line]
        assert '"9001"' in login
        assert "run: always" in login

    def test_no_file_that_only_the_machine_has_is_deleted(self):
        (folder,) = [line for line in told().stdout.splitlines() if "type: rsync" in line]
        arguments = rsync_arguments(folder)
        # Without arguments of its own Vagrant takes some that have --delete.
        assert "--archive" in arguments
        assert not [argument for argument in arguments if argument.startswith("--del")]

    def test_what_is_built_here_does_not_go_over_but_the_compiled_programs_do(self):
        (folder,) = [line for line in told().stdout.splitlines() if "type: rsync" in line]
        # The slash in front: only those of the clone itself, not p4/build.
        for name in (".venv", "build", "results", "lab-*", "railyard/web/page/node_modules"):
            assert f'"/{name}/"' in folder
        assert '"build' not in folder

    @pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
    def test_a_copy_of_the_clone_leaves_a_students_files_and_edits_as_they_are(self, tmp_path: Path):
        (folder,) = [line for line in told().stdout.splitlines() if "type: rsync" in line]
        clone, machine, replaced = tmp_path / "clone", tmp_path / "machine", tmp_path / "replaced"
        arguments = [
            text.replace("/home/vagrant/railyard-replaced", str(replaced)) for text in rsync_arguments(folder)
        ]
        excluded = re.findall(r'"([^"]+)"', folder.partition("rsync__exclude: ")[2])

        def copy() -> None:
            excludes = [f"--exclude={pattern}" for pattern in excluded]
            subprocess.run(["rsync", *arguments, *excludes, f"{clone}/", f"{machine}/"], check=True)

        for name in ("README.md", "p4/build/x.json", "build/engine/x.o", "scenario.yaml", "lab-2/mine.py"):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_text("of the clone")
            os.utime(clone / name, (1_000_000, 1_000_000))
        copy()
        assert (machine / "p4" / "build" / "x.json").is_file()
        assert not (machine / "build").exists()
        # What a student and the machine make.
        work = (
            "lab-2/mine.py",
            "lab-3/rules.py",
            "results/x",
            "notes.txt",
            "railyard/web/page/node_modules/x.js",
        )
        for name in work:
            (machine / name).parent.mkdir(parents=True, exist_ok=True)
            (machine / name).write_text("of a student")
        (machine / "scenario.yaml").write_text("edited in the machine")
        (clone / "README.md").write_text("edited in the clone")
        os.utime(clone / "README.md", (2_000_000, 2_000_000))
        copy()
        assert {(machine / name).read_text() for name in work} == {"of a student"}
        assert (machine / "scenario.yaml").read_text() == "edited in the machine"
        assert (machine / "README.md").read_text() == "edited in the clone"
        # A later change of the clone wins, and what it replaces is kept.
        (clone / "scenario.yaml").write_text("edited in the clone")
        os.utime(clone / "scenario.yaml", (4_000_000_000, 4_000_000_000))
        copy()
        assert (machine / "scenario.yaml").read_text() == "edited in the clone"
        assert (replaced / "scenario.yaml").read_text() == "edited in the machine"

    def test_git_ignores_the_key_of_the_machine(self):
        assert "/.vagrant/" in (ROOT / ".gitignore").read_text().splitlines()

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
    "curl": """
        case "$*" in *"$OFFERS"*Release.key*) while [ "$1" != -o ]; do shift; done; echo key >"$2" ;;
        *) exit "${REFUSAL:-22}" ;; esac""",
    "gpg": "grep key",
    "mktemp": 'echo "$PLACE/key"',
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
        assert calls[-1] == "make lab-setup"
        assert "\nlab-setup:" in (ROOT / "Makefile").read_text()

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
        assert "a changed P4 file of labs 1, 7 and 9 cannot be checked" in said
        assert calls[-1] == "make lab-setup"

    # curl: a name that does not resolve, no connection, no answer in time.
    @pytest.mark.parametrize("refusal", ["6", "7", "28"])
    def test_repositories_that_cannot_be_reached_are_no_missing_packages(self, provision, refusal: str):
        said, calls = provision("debian-12", REFUSAL=refusal)
        assert "https://download.opensuse.org/repositories cannot be reached" in said
        assert "`vagrant provision` tries again" in said
        assert "no packages" not in said
        assert calls[-1] == "make lab-setup"

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
    assert (done.returncode, done.stderr) == (2, "setup: everything is none of base, lab and dev\n")


def test_a_login_opens_in_a_work_folder_outside_the_clone_with_the_labs(tmp_path: Path):
    clone, home, root = tmp_path / "my clone", tmp_path / "home", tmp_path / "root"
    (clone / ".venv" / "bin").mkdir(parents=True)
    for name in ("railyard", "railyard-switchd"):
        (clone / ".venv" / "bin" / name).write_text('#!/bin/sh\necho "labs of $PWD: $*"\n')
        (clone / ".venv" / "bin" / name).chmod(0o755)
    for folder in (home, root / "usr" / "local" / "bin", root / "etc" / "sudoers.d"):
        folder.mkdir(parents=True)
    # The system's folders are those of the test.
    script = tmp_path / "login.sh"
    text = (ROOT / "scripts" / "login.sh").read_text()
    script.write_text(
        text.replace("/usr/local/bin", f"{root}/usr/local/bin").replace("/etc/", f"{root}/etc/")
    )
    environment = {"HOME": str(home), "PATH": f"{root}/usr/local/bin:{os.environ['PATH']}"}
    sudo = tmp_path / "sudo"
    if os.geteuid() != 0:
        sudo.mkdir()
        (sudo / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (sudo / "sudo").chmod(0o755)
        environment["PATH"] = f"{sudo}:{environment['PATH']}"
    for _ in range(2):
        subprocess.run(["bash", script, clone, "9001"], env=environment, check=True)
    assert (root / "usr" / "local" / "bin" / "railyard").resolve() == clone / ".venv" / "bin" / "railyard"
    kept = (root / "etc" / "sudoers.d" / "railyard").read_text()
    assert kept.startswith("Defaults env_keep += ")

    def login(*options: str) -> str:
        shell = ["bash", *options, "-c", 'pwd; echo "$RAILYARD_PAGE_ADDRESS"']
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

    lines = login("-l", "-i").splitlines()
    assert lines[0] == f"labs of {home}/work: lab list"
    assert "`railyard serve first-train` prints an address" in lines[2]
    assert lines[3:] == [f"{home}/work", "http://127.0.0.1:9001"]
    # A command over ssh, such as that of rsync, prints nothing of its own.
    assert login("-l").splitlines() == [str(home), "http://127.0.0.1:9001"]
    assert login("-l").count("\n") == 2
    variables = set(re.findall(r"RAILYARD_\w+", kept))
    assert variables == {"RAILYARD_MACHINE", HOST_VARIABLE, ADDRESS_VARIABLE}


def test_make_without_a_terminal_prints_nothing_of_its_shell():
    """Bash takes a shell whose parent is an ssh session for a login, and reads /etc/bash.bashrc."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "SSH_CLIENT": "192.0.2.1 1 22"}
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
