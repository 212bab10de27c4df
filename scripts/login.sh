#!/usr/bin/env bash
# Makes a login of the virtual machine open in a work folder outside the clone, with `railyard` on the PATH, also on that
# of sudo, and the list of labs. Vagrant runs it as its user at each start; a second call changes nothing.
#   scripts/login.sh FOLDER OF THE CLONE [PORT OF THE PAGE ON THE USER'S COMPUTER]
set -euo pipefail

folder=$(cd "${1:?give the folder of the clone}" && pwd)
port=${2:-8642}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

mkdir -p "$HOME/work"
for name in railyard railyard-switchd; do
    [ "$(readlink "/usr/local/bin/$name" || true)" = "$folder/.venv/bin/$name" ] \
        || as_root ln -sfn "$folder/.venv/bin/$name" "/usr/local/bin/$name"
done
# A run with sudo needs the page's address as well.
echo 'Defaults env_keep += "RAILYARD_MACHINE RAILYARD_PAGE_HOST RAILYARD_PAGE_ADDRESS"' \
    | as_root install -m 440 /dev/stdin /etc/sudoers.d/railyard

cat >"$HOME/.railyard_login" <<EOF
# Written by scripts/login.sh.
export RAILYARD_MACHINE=vagrant RAILYARD_PAGE_HOST=0.0.0.0 RAILYARD_PAGE_ADDRESS=http://127.0.0.1:$port
case \$- in
    *i*)
        PATH="$folder/.venv/bin:\$PATH"
        cd "\$HOME/work" && railyard lab list
        echo "Keep your files in \$PWD; the clone is $folder."
        echo "The page: \\\`railyard serve first-train\\\` prints an address for the browser of your own computer."
        ;;
esac
EOF
# shellcheck disable=SC2016  # the login expands it
line='. "$HOME/.railyard_login"'
grep -qsxF "$line" "$HOME/.profile" || printf '%s\n' "$line" >>"$HOME/.profile"
