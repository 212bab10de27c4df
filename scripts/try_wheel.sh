#!/usr/bin/env bash
# Tries a wheel in a bare virtual environment, in an empty folder: list, run by name, a lab, the live page.
#   scripts/try_wheel.sh WHEEL [PYTHON]
set -euo pipefail
wheel=$(realpath "${1:?give the file of a wheel}")
place=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$place"' EXIT

"${2:-python3}" -m venv "$place/venv"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$place/venv/bin/pip" install --quiet "${wheel}[web]"
mkdir "$place/empty" && cd "$place/empty"
# Without the folders of a compiler: whatever runs is in the wheel.
mkdir "$place/bin" && for tool in cat env ls mktemp rm sh uname; do ln -s "$(command -v "$tool")" "$place/bin/"; done
export PATH="$place/venv/bin:$place/bin"

railyard --version
railyard list >list.txt
railyard check 01_first_train >check.txt
railyard run real-time --quiet
[ -s results/real-time/result.json ]
railyard lab list >labs.txt
railyard lab start 3 >start.txt
railyard lab check lab-3 >lab.txt || true
while read -r line; do case $line in *"stages pass"*) passed=$line ;; esac; done <lab.txt
echo "lab 3 as it starts: ${passed:?the check of lab 3 said nothing}"

railyard serve real-time --port 0 >page.txt 2>&1 &
server=$!
python - <<'PY'
import pathlib, sys, time, urllib.request

for _ in range(600):
    lines = pathlib.Path("page.txt").read_text().splitlines()
    if len(lines) > 1:
        break
    time.sleep(0.1)
else:
    sys.exit("railyard serve has printed no address")
root = lines[0].partition("?")[0]
for name in ("", "npm/preact.js", "npm/hooks.js", "npm/htm.js", "npm/uplot.js", "npm/uplot.css", "page/main.js"):
    with urllib.request.urlopen(root + name) as response:
        assert response.status == 200 and response.read(), name
print("the page and its packages are served")
PY
