#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-compiles the engine for aarch64 and runs its tests under qemu-user. Needs Debian's packages
# g++-aarch64-linux-gnu, qemu-user and nlohmann-json3-dev, and .venv (`make base`). Nothing is installed: Debian's Python
# for arm64 is unpacked into build/aarch64.
set -euo pipefail

cd "$(dirname "$0")/.."
here=$PWD place=$PWD/build/aarch64
root=$place/root site=$place/site prefix=$place/prefix
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v "$tool" >/dev/null || { echo "aarch64: no $tool; install g++-aarch64-linux-gnu and qemu-user" >&2; exit 1; }
done
venv=$here/.venv/bin/python
version=$("$venv" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

if [ ! -x "$root/usr/bin/python$version" ]; then
    mkdir -p "$place"/{lists,cache/archives}/partial "$place/packages" "$root"
    apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$place/lists" -o Dir::Cache="$place/cache")
    apt-get "${apt[@]}" update -qq
    (cd "$place/packages" && apt-get "${apt[@]}" download -qq "python$version-minimal" "libpython$version-minimal" \
        "libpython$version-stdlib" "libpython$version-dev" libc6 libstdc++6 libgcc-s1 zlib1g libexpat1 libssl3 libffi8)
    for package in "$place"/packages/*.deb; do dpkg-deb -x "$package" "$root"; done
fi

# Headers of the library alone: /usr/include is of this machine's architecture.
mkdir -p "$prefix/include" "$prefix/share/cmake"
cp -r /usr/include/nlohmann "$prefix/include/"
cp -r /usr/share/cmake/nlohmann_json "$prefix/share/cmake/"
PATH="$here/.venv/bin:$PATH" cmake -G Ninja -S . -B "$place/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DPython_EXECUTABLE="$venv" -DPython_INCLUDE_DIR="$root/usr/include/python$version" \
    -Dnlohmann_json_DIR="$prefix/share/cmake/nlohmann_json" \
    -DCMAKE_CXX_FLAGS="-isystem $root/usr/include -isystem $root/usr/include/python$version"
PATH="$here/.venv/bin:$PATH" cmake --build "$place/build"

rm -rf "$site" && mkdir -p "$site/emulation"
cp "$place"/build/_engine*.so "$site/emulation/_engine.cpython-${version/./}-aarch64-linux-gnu.so"
cp emulation/__init__.py emulation/_engine.pyi "$site/emulation/"
for package in pytest _pytest pluggy iniconfig packaging pygments py.py; do
    cp -r "$here/.venv/lib/python$version/site-packages/$package" "$site/"
done
cp -r tests "$site/"
cd "$site"
# Left out: tests that need compiled packages of Python or Railyard's Python part, and a test that starts Python by its path.
others='^(from|import) (numpy|scipy|hypothesis|emulation\.[a-z])'
mapfile -t left_out < <(grep -lE "$others" tests/emulation/engine/test_*.py; echo tests/emulation/engine/test_wire_threads.py)
PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1 qemu-aarch64 -L "$root" "$root/usr/bin/python$version" -m pytest -q \
    --noconftest -p no:cacheprovider -c /dev/null --rootdir="$site" tests/emulation/engine \
    "${left_out[@]/#/--ignore=}"
