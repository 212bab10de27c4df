#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine a lab: BMv2 and p4c where the P4 language project has packages of them for it, then
# the same `make setup` as everywhere. A second call finds nothing to do. Vagrant runs it as its user, who has sudo.
#   scripts/provision.sh [FOLDER OF THE CLONE]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
export PATH="$PATH:/usr/sbin:/sbin"

readonly PACKAGES=(p4lang-bmv2 p4lang-p4c)
readonly SERVICE=https://download.opensuse.org/repositories
# Newest first: releases as they come, then the project's older builds. docs/testbeds/vagrant.md says what each holds.
readonly PROJECTS=(home:/p4lang:/latest home:/p4lang)
readonly KEYRING=/etc/apt/keyrings/p4lang.gpg
readonly SOURCE=/etc/apt/sources.list.d/p4lang.list

say() { printf 'provision: %s\n' "$*"; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }

# What the build service calls this release: Debian_12, xUbuntu_22.04.
release() {
    # shellcheck source=/dev/null
    . /etc/os-release
    case ${ID:-} in
        debian) printf 'Debian_%s' "$VERSION_ID" ;;
        ubuntu) printf 'xUbuntu_%s' "$VERSION_ID" ;;
        *) return 1 ;;
    esac
}

# Makes one repository known to apt; fails when it does not have every package for this release and processor.
use_repository() {
    local url=$1 package
    curl -fsSL --retry 3 "$url/Release.key" 2>/dev/null | gpg --dearmor | as_root tee "$KEYRING" >/dev/null || return 1
    echo "deb [signed-by=$KEYRING] $url/ /" | as_root tee "$SOURCE" >/dev/null
    apt_get update || return 1
    for package in "${PACKAGES[@]}"; do
        apt-cache policy "$package" | grep -q 'Candidate: [^(]' || return 1
    done
}

forget_repository() { as_root rm -f "$KEYRING" "$SOURCE"; }

install_bmv2() {
    if command -v simple_switch_grpc >/dev/null && command -v p4c-bm2-ss >/dev/null; then
        say "BMv2 and p4c are there"
        return
    fi
    local name project
    if ! name=$(release); then
        say "BMv2 and p4c have packages for Debian and Ubuntu only; the built-in switch does everything here"
        return
    fi
    as_root install -d -m 755 "$(dirname "$KEYRING")"
    for project in "${PROJECTS[@]}"; do
        if use_repository "$SERVICE/$project/$name" && apt_get install -y "${PACKAGES[@]}"; then
            say "BMv2 and p4c come from $SERVICE/$project/$name"
            return
        fi
        forget_repository
    done
    apt_get update
    say "no packages of BMv2 and p4c for $name on $(dpkg --print-architecture); the built-in switch does everything here"
}

# Delay as a fault needs netem, which Ubuntu keeps in a package of its own.
install_netem() {
    modprobe -n sch_netem 2>/dev/null && return
    local extra
    extra=linux-modules-extra-$(uname -r)
    if apt-cache show "$extra" >/dev/null 2>&1; then
        say "installing $extra"
        apt_get install -y "$extra"
    else
        say "this kernel has no sch_netem: faults of kind delay cannot be shown on the Mininet testbed"
    fi
}

apt_get update
apt_get install -y --no-install-recommends ca-certificates curl gpg kmod make rsync
install_bmv2
install_netem
make setup
say "ready: cd $PWD && make demo"
