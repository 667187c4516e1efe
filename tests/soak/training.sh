# SPDX-License-Identifier: GPL-2.0-or-later
# For bash, to be sourced or run: a training of $1 steps of half a second, ten to an epoch, whose save takes $2 seconds.
# $3 is how it tells that it has saved: `report`, to the `surgent run` that it is under; `step` or `epoch`, where it saves
# at any step or only at an epoch's end, by its own comment. It goes on where its last save was, and writes into JOB.events
# when each run of it was up, was asked, and had saved.
steps=$1 save_s=$2 how=$3
me=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
me=${me:-$SLURM_JOB_ID}
note() { echo "${SLURM_RESTART_COUNT:-0} $1" >> "$SLURM_JOB_ID.events"; }

# Until slurmctld has heard it.
tell() {
    if [ "$how" = report ]; then
        echo '{"saved": true}' >> "$SURGENT_REPORT"
        return
    fi
    for try in $(seq 200); do
        scontrol update "JobId=$me" Comment="signal=USR1@batch save=$how epochs=$((steps / 10)) epoch_s=5 saved=$1" && return
        sleep 0.3
    done
}

save() {
    asked=
    sleep "$save_s"
    echo "$step" > "$SLURM_JOB_ID.new" && mv "$SLURM_JOB_ID.new" "$SLURM_JOB_ID.model"
    local at
    at=$(date +%s)
    note saved
    tell "$at"
}

asked=
trap 'note asked; asked=yes' USR1
step=$(cat "$SLURM_JOB_ID.model" 2>/dev/null || echo 0)
note up
while [ "$step" -lt "$steps" ]; do
    sleep 0.5
    step=$((step + 1))
    if [ $((step % 10)) -eq 0 ]; then
        echo "epoch $((step / 10))/$((steps / 10))"
        [ -z "$asked" ] || save
    elif [ -n "$asked" ] && [ "$how" != epoch ]; then
        save
    fi
done
