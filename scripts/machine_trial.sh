#!/usr/bin/env bash
# Shows that the virtual machine loses nothing: a student's files and edits, made in the machine, have the same hashes
# after rsync, halt, up and provision. Needs Vagrant and a provider; starts the machine of this clone if it is not
# running, and leaves it running. A student's files are made in folders called trial, and removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v vagrant >/dev/null || { echo "trial: vagrant is not installed; docs/testbeds/vagrant.md says how" >&2; exit 3; }

inside() { vagrant ssh --no-tty -c "$1" </dev/null; }
step() {
    local begin=$SECONDS
    echo "trial: vagrant $*"
    vagrant "$@" </dev/null
    echo "trial: vagrant $* took $((SECONDS - begin)) s"
}

# A lab in the work folder, one started in the clone, edits of a file that the clone has, results, a page's packages.
# shellcheck disable=SC2016  # the machine expands it
edits='set -e
cd ~/work && { [ -d trial ] || railyard lab start 3 trial >/dev/null; }
echo "# edited by a student" >>trial/README.md
cd ~/railyard && { [ -d lab-trial ] || railyard lab start 5 lab-trial >/dev/null; }
echo "# edited by a student" >>~/railyard/lab-trial/README.md
echo "# edited by a student" >>~/railyard/experiments/02_real_time/README.md
mkdir -p ~/railyard/results/trial ~/railyard/trial ~/railyard/railyard/web/page/node_modules/trial
echo mine | tee ~/railyard/results/trial/x ~/railyard/trial/x ~/railyard/railyard/web/page/node_modules/trial/x >/dev/null'
# shellcheck disable=SC2016
hashes='cd && find work/trial railyard/lab-trial railyard/results/trial railyard/trial \
    railyard/railyard/web/page/node_modules/trial railyard/experiments/02_real_time/README.md -type f -print0 \
    | sort -z | xargs -0 sha256sum'
# shellcheck disable=SC2016
remove='cd && rm -rf work/trial railyard/lab-trial railyard/results/trial railyard/trial \
    railyard/railyard/web/page/node_modules/trial
sed -i "/^# edited by a student$/d" railyard/experiments/02_real_time/README.md'

step up
inside "$edits"
before=$(inside "$hashes")
echo "$before"

compare() {
    if [ "$(inside "$hashes")" != "$before" ]; then
        echo "trial: vagrant $* changed a student's files:" >&2
        diff <(echo "$before") <(inside "$hashes") >&2 || true
        exit 1
    fi
    echo "trial: after vagrant $* all $(wc -l <<<"$before") files are as before"
}

if [ $# -eq 0 ]; then set -- rsync halt up provision reload; fi
for command; do
    step "$command"
    [ "$command" = halt ] || compare "$command"
done
inside "$remove"
echo "trial: nothing was lost"
