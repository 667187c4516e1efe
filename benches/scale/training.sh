# SPDX-License-Identifier: GPL-2.0-or-later
# A job that trains nothing and saves at once when it is asked to. One process, as there are thousands of it.
me=$SLURM_JOB_ID
[ -z "$SLURM_ARRAY_JOB_ID" ] || me=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
trap 'scontrol update JobId=$me Comment="epochs=90 save=step save_s=1 signal=USR1@batch saved=$(date +%s)"' USR1
# Nobody ever writes there.
exec 3<>never
while :; do read -r _ <&3; done
