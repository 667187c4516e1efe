# SPDX-License-Identifier: GPL-2.0-or-later
# For bash, to be sourced.

# So many are run once more; where more fail it is not by chance.
AGAIN_MAX=3

# Runs the function $1, which runs tests, and once more those on real clusters that failed, with the function $2: it takes a target
# and names of tests in it, and runs them one by one. Whole clusters on a busy machine may be late once. What was said of them stays
# to be read.
twice() {
    local all=$1 some=$2 log status failed target names again=()
    log=$(mktemp) || return 1
    "$all" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    # Lines of target and name. Where cargo names no program, it is that of tests/cluster.
    failed=$(awk 'BEGIN { target = "cluster" } /^ *Doc-tests / { target = "other" }
        /^ *Running / { target = match($0, / tests\/(cluster|rounds)\/main\.rs /) ? substr($0, RSTART + 7, 7) : "other" }
        /^test .* \.\.\. FAILED$/ { sub(/\/.*/, "", target); print target, $2 }' "$log")
    rm -f "$log"
    if [ "$status" -eq 0 ] || [ -z "$failed" ] || [[ $failed == *other\ * ]] || [ "$(wc -l <<<"$failed")" -gt $AGAIN_MAX ]; then
        return "$status"
    fi
    for target in cluster rounds; do
        mapfile -t names < <(awk -v target="$target" '$1 == target { print $2 }' <<<"$failed")
        [ ${#names[@]} -gt 0 ] || continue
        echo "Once more, one by one: ${names[*]}"
        "$some" "$target" "${names[@]}" || return $?
        again+=("${names[@]}")
    done
    echo "Passed only when run again, alone: ${again[*]}"
}
