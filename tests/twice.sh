# SPDX-License-Identifier: GPL-2.0-or-later
# For bash, to be sourced.

# So many are run once more; where more fail it is not by chance.
AGAIN_MAX=3

# Runs the function $1, which runs tests, and once more with the function $2, which takes names of tests and runs them one by
# one, those of a cluster that failed: whole clusters on a busy machine may be late once. What was said of them stays to be read.
twice() {
    local all=$1 some=$2 log status failed of_others
    log=$(mktemp) || return 1
    "$all" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    # `elsewhere NAME` for those of other programs; all are of the cluster's where cargo names no program.
    failed=$(awk '/^ *Running / { elsewhere = !/ tests\/cluster\/main\.rs / } /^ *Doc-tests / { elsewhere = 1 }
        /^test .* \.\.\. FAILED$/ { print (elsewhere ? "elsewhere " : "") $2 }' "$log")
    of_others=$(grep -c '^elsewhere' <<<"$failed")
    rm -f "$log"
    mapfile -t failed < <(grep . <<<"$failed")
    if [ "$status" -eq 0 ] || [ "$of_others" -gt 0 ] || [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt $AGAIN_MAX ]; then
        return "$status"
    fi
    echo "Once more, one by one: ${failed[*]}"
    "$some" "${failed[@]}" || return $?
    echo "Passed only when run again, alone: ${failed[*]}"
}
