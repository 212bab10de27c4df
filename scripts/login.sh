#!/usr/bin/env bash
# Makes a login of the virtual machine open in the clone, with `railyard` on the PATH and the list of labs. Vagrant runs
# it as its user; a second call changes nothing.
#   scripts/login.sh FOLDER OF THE CLONE
set -euo pipefail

folder=$(cd "${1:?give the folder of the clone}" && pwd)
cat >"$HOME/.railyard_login" <<EOF
# Written by scripts/login.sh.
case \$- in
    *i*)
        PATH="$folder/.venv/bin:\$PATH"
        cd "$folder" && railyard lab list
        ;;
esac
EOF
# shellcheck disable=SC2016  # the login expands it
line='. "$HOME/.railyard_login"'
grep -qsxF "$line" "$HOME/.profile" || printf '%s\n' "$line" >>"$HOME/.profile"
