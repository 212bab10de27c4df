#!/usr/bin/env bash
# Makes a clone ready: missing Debian packages, .venv, Python packages, the engine. Each step leaves a stamp of what it
# was made from, so that a second call does nothing and needs no network.
#   scripts/setup.sh        what the embedded testbed needs
#   scripts/setup.sh lab    also what the Mininet testbed, captures, the labs and the live page need
#   scripts/setup.sh dev    also what developers need: test runner, browser, Node.js, CMake, every optional package
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 2; }

# A Python that can make an environment and compile an extension: 3.11 or later, venv, ensurepip and Python.h.
usable_python() {
    "$1" - 2>/dev/null <<'PY'
import ensurepip, pathlib, sys, sysconfig, venv
header = pathlib.Path(sysconfig.get_path("include"), "Python.h")
sys.exit(0 if sys.version_info >= (3, 11) and header.is_file() else 1)
PY
}

find_python() {
    local name
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        if usable_python "$name"; then command -v "$name"; return 0; fi
    done
    return 1
}

has_header() { [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]; }

# Ubuntu 22.04's own Python is too old; a newer one stands beside it.
python_packages() {
    if grep -qs '^VERSION_ID="22.04"' /etc/os-release; then
        printf '%s\n' python3.11 python3.11-venv python3.11-dev
    else
        printf '%s\n' python3 python3-venv python3-dev
    fi
}

lab_packages() {
    command -v ip >/dev/null || echo iproute2
    [ -d /usr/lib/python3/dist-packages/mininet ] || echo mininet
    command -v tcpdump >/dev/null || echo tcpdump
    command -v tshark >/dev/null || echo tshark
    command -v ping >/dev/null || echo iputils-ping
}

developer_packages() {
    command -v git >/dev/null || echo git  # lists the files for the spelling
    has_header gtest/gtest.h || echo libgtest-dev  # the engine's tests in C++
    # For the tests of the live page; Ubuntu has Chromium as a snap only.
    command -v chromium >/dev/null || ! grep -qs '^ID=debian' /etc/os-release || echo chromium
}

install_packages() {
    local missing=()
    command -v g++ >/dev/null || missing+=(g++)
    command -v make >/dev/null || missing+=(make)
    if ! find_python >/dev/null; then mapfile -t -O "${#missing[@]}" missing < <(python_packages); fi
    has_header nlohmann/json.hpp || missing+=(nlohmann-json3-dev)
    if [ "$what" != base ]; then mapfile -t -O "${#missing[@]}" missing < <(lab_packages); fi
    if [ "$what" = dev ]; then mapfile -t -O "${#missing[@]}" missing < <(developer_packages); fi
    [ ${#missing[@]} -eq 0 ] && return 0

    command -v apt-get >/dev/null \
        || fail "missing: ${missing[*]}; install them with this system's package manager and call again"
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "missing: ${missing[*]}; install them as root with apt-get, or install sudo"
        root=(sudo)
    fi
    say "installing ${missing[*]}"
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@" >/dev/null' - "${missing[@]}"
}

# What a step was made from, as one line.
stamp_of() { { pwd; "$python" -V; cat "$@"; } | sha256sum | cut -d ' ' -f 1; }
current() { [ -f ".venv/stamp-$1" ] && [ "$(cat ".venv/stamp-$1")" = "$2" ]; }

# Names of Python packages from pyproject.toml: what Railyard needs to run, or what developers need beside it.
wanted() {
    "$python" - "$1" <<'PY'
import pathlib, sys, tomllib
document = tomllib.loads(pathlib.Path("pyproject.toml").read_text())
project, extras = document["project"], document["project"]["optional-dependencies"]
if sys.argv[1] == "run":
    print("\n".join(project["dependencies"] + extras["web"]))
else:
    print("\n".join(document["build-system"]["requires"] + extras["dev"] + extras["circuits"]))
PY
}

install_wanted() {
    wanted run | .venv/bin/python -m pip install --quiet -r /dev/stdin
    echo "$packages" >.venv/stamp-packages
}

what=${1:-base}
case $what in base | lab | dev) ;; *) fail "$what is none of base, lab and dev" ;; esac

install_packages
python=$(find_python) || fail "no Python of 3.11 or later with venv and headers; name one: make setup PYTHON=/path/to/python3"

mapfile -t engine_sources < <(find CMakeLists.txt emulation/engine -type f | LC_ALL=C sort)
packages=$(stamp_of pyproject.toml)
engine=$(stamp_of pyproject.toml "${engine_sources[@]}")
page=$(stamp_of railyard/web/page/package.json railyard/web/page/package-lock.json)
has_dev() { [ "$what" != dev ] || current dev "$packages"; }
has_page() { [ "$what" = base ] || { current page "$page" && [ -d railyard/web/page/node_modules ]; }; }

if current packages "$packages" && has_dev && current engine "$engine" && has_page; then
    say "nothing to do"
    exit 0
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PATH="$PWD/.venv/bin:$PATH"
if ! current packages "$packages"; then
    say "installing Python packages into .venv with $("$python" -V)"
    place="$PWD $("$python" -V)"
    if [ "$(cat .venv/stamp-place 2>/dev/null)" != "$place" ]; then
        rm -rf .venv
        "$python" -m venv .venv
        echo "$place" >.venv/stamp-place
    fi
    # Without developers' packages, which may need the same ones, the compiler can work beside pip.
    install_wanted &
    installing=$!
    trap wait EXIT
    [ "$what" != dev ] || wait "$installing"
fi
if ! has_dev; then
    say "installing developers' Python packages"
    wanted dev | .venv/bin/python -m pip install --quiet -r /dev/stdin
    echo "$packages" >.venv/stamp-dev
fi

if ! current engine "$engine"; then
    say "building the engine"
    # Without developers' packages pip gets CMake and Ninja for the build alone.
    isolation=()
    if current dev "$packages"; then isolation=(--no-build-isolation); fi
    .venv/bin/python -m pip install --quiet "${isolation[@]}" --no-deps --editable .
    echo "$engine" >.venv/stamp-engine
fi
[ -z "${installing:-}" ] || wait "$installing"

if ! has_page; then
    say "installing the packages of the live page"
    if scripts/page.sh; then
        echo "$page" >.venv/stamp-page
    else
        say "npm has failed: railyard serve has no page, and its tests are skipped; all else works. Call again to retry" >&2
    fi
fi
say "ready"
