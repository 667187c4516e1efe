#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ends everything that belongs to one test cluster, however its owner ended.
#
# Standard input is a pipe whose other end only the owner holds: first line the cluster's folder, then nothing. End of
# input means that the owner dropped the cluster, panicked, was interrupted or killed. Then every process that
# names the folder in its environment or command line, or stands in it, is killed, and the folder removed.
# The folder comes by the pipe and not as an argument so that this script and its grep never match themselves.
IFS= read -r folder || exit 0
case $folder in
/?*/surgent-?*) ;;
*) echo "keeper.sh: refusing to clean up after the folder '$folder'" >&2; exit 2 ;;
esac
while IFS= read -r _; do :; done
cd / || exit 1

members() {
    printf '%s\n' "$folder" | grep -lzasFf - /proc/[0-9]*/environ /proc/[0-9]*/cmdline
    # One program for all processes: there may be thousands, of others.
    find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$folder" -o -lname "$folder/*" \) 2>/dev/null
}

round=0
while [ $round -lt 100 ]; do
    pids=$(members | sed 's|^/proc/\([0-9]*\)/.*|\1|' | sort -u)
    alive=
    for pid in $pids; do
        # A zombie has no memory left to be found by, so only living processes come here.
        [ "$pid" -eq $$ ] || { kill -KILL "$pid" 2>/dev/null && alive=yes; }
    done
    [ -n "$alive" ] || break
    round=$((round + 1))
    sleep 0.05
done
# A file system of its own, where the test wanted to fill it.
! mountpoint -q "$folder/state" 2>/dev/null || umount -l "$folder/state"
[ -n "$SURGENT_KEEP" ] || rm -rf "$folder"
