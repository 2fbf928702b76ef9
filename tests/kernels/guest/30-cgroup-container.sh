#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a container's cgroup namespace, where processes are at the top: they are moved to a leaf, since
# no limit could be set beside them. Without a namespace others' processes stay where they are.
# shellcheck disable=SC2016 # expanded by the shell that runs it
. "$(dirname "$0")/../../lib/tap.sh"

BOX=/sys/fs/cgroup/$T
export BOX
cleanup() {
	echo 1 >"$BOX/cgroup.kill"
	find "$BOX" -depth -type d -exec rmdir {} +
}

begin cleanup
mkdir "$BOX"
echo 'echo 0 >$BOX/cgroup.procs && exec /usr/bin/unshare -C -m "$@"' >"$TMPDIR/box"
cat >"$TMPDIR/inside" <<'E2'
umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 9
sleep 30 &
"$WDR_BUILD/tests/helpers/cgroup_try" check "$T" || exit
echo "neighbour $(cat /proc/$!/cgroup)"
"$WDR_BUILD/tests/helpers/cgroup_try" eat "$T" memory=33554432 swap=0 arg=67108864
kill $!
E2
ok "a container can make jobs" sh "$TMPDIR/box" sh "$TMPDIR/inside"
is "with every limit" "$(echo "$OUT" | grep -c ' yes $')" 7
like "its processes are in a leaf" "$OUT" '^neighbour 0::/supervisor$'
like "the limit holds" "$OUT" '^signal 9$'
is "no job is left" "$(find "$BOX" -mindepth 1 -type d -name "$T")" ""
cleanup

# box_of_user: a cgroup with controllers that belongs to an ordinary user, at the top of no namespace.
box_of_user() {
	mkdir "$BOX"
	echo +cpu +memory +pids >"$BOX/cgroup.subtree_control"
	mkdir "$BOX/mine"
	chown -R 65534 "$BOX/mine"
}

box_of_user
cat >"$TMPDIR/user" <<'E2'
echo 0 >$BOX/mine/cgroup.procs && exec /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups sh "$@"
E2
cat >"$TMPDIR/alone" <<'E2'
exec "$WDR_BUILD/tests/helpers/cgroup_try" check "$T"
E2
cat >"$TMPDIR/both" <<'E2'
sleep 30 &
"$WDR_BUILD/tests/helpers/cgroup_try" check "$T"
echo "neighbour $(cat /proc/$!/cgroup)"
kill $!
E2
chmod 755 "$TMPDIR" && chmod 644 "$TMPDIR"/*
ok "a user works in what is the user's" sh "$TMPDIR/user" "$TMPDIR/alone"
is "with every limit" "$(echo "$OUT" | grep -c ' yes $')" 7
cleanup
box_of_user
ok "a neighbour is in the way" sh "$TMPDIR/user" "$TMPDIR/both"
like "of limits" "$OUT" '^memory_limit no .*no memory controller here: .*cgroup.procs: Device or resource busy'
like "and stays where it is" "$OUT" "^neighbour 0::/$T/mine\$"
end
