#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine a lab: BMv2 and p4c where the P4 language project has packages of them for it, then
# `make lab-setup`. A second call finds nothing to do. Vagrant runs it as its user, who has sudo.
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

# Makes one repository known to apt. Fails with 1 when it does not have every package for this release and processor, with
# 2 when it cannot be reached.
use_repository() {
    local url=$1 package status=0
    curl -fsSL --retry 3 --connect-timeout 20 -o "$KEY" "$url/Release.key" 2>/dev/null || status=$?
    # 22: the server has answered that there is no such file.
    [ "$status" -ne 22 ] || return 1
    [ "$status" -eq 0 ] || return 2
    gpg --dearmor <"$KEY" 2>/dev/null | as_root tee "$KEYRING" >/dev/null || return 1
    echo "deb [signed-by=$KEYRING] $url/ /" | as_root tee "$SOURCE" >/dev/null
    apt_get update || return 2
    for package in "${PACKAGES[@]}"; do
        apt-cache policy "$package" | grep -q 'Candidate: [^(]' || return 1
    done
    apt_get install -y "${PACKAGES[@]}" || return 1
}

forget_repository() { as_root rm -f "$KEYRING" "$SOURCE"; }

# Says why BMv2 and p4c are not there, and what that means.
without_bmv2() {
    say "$*; the built-in switch takes the place of BMv2 everywhere"
    command -v p4c-bm2-ss >/dev/null \
        || say "without p4c nothing compiles P4: a changed P4 file of labs 1, 7 and 9 cannot be checked; all else can"
}

install_bmv2() {
    if command -v simple_switch_grpc >/dev/null && command -v p4c-bm2-ss >/dev/null; then
        say "BMv2 and p4c are there"
        return
    fi
    local name project status unreachable=
    if ! name=$(release); then
        without_bmv2 "BMv2 and p4c have packages for Debian and Ubuntu only"
        return
    fi
    as_root install -d -m 755 "$(dirname "$KEYRING")"
    KEY=$(mktemp)
    for project in "${PROJECTS[@]}"; do
        status=0
        use_repository "$SERVICE/$project/$name" || status=$?
        if [ "$status" -eq 0 ]; then
            say "BMv2 and p4c come from $SERVICE/$project/$name"
            rm -f "$KEY"
            return
        fi
        [ "$status" -ne 2 ] || unreachable=yes
        forget_repository
    done
    rm -f "$KEY"
    apt_get update
    if [ -n "$unreachable" ]; then
        without_bmv2 "$SERVICE cannot be reached, so BMv2 and p4c are not installed; \`vagrant provision\` tries again"
    else
        without_bmv2 "no packages of BMv2 and p4c for $name on $(dpkg --print-architecture)"
    fi
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
make lab-setup
say "ready: railyard run first-train"
