#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job's cgroups on the real kernel, v1 hybrid and pure v2: every limit holds, and would not without
# being set; everything can be killed, frozen and removed, also by name after a crash.
# guest: yes
# init: both
# timeout: 60
. "$(dirname "$0")/../lib/tap.sh"

try() {
	deed=$1
	shift
	run timeout 20 "$WDR_BUILD/tests/helpers/cgroup_try" "$deed" "$T" "$@"
}

# value KEY: the number behind it in OUT.
value() {
	printf '%s\n' "$OUT" | sed -n "s/^$1 //p"
}

# between WHAT GOT LOW HIGH
between() {
	if [ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1" || note "got $2, want $3 to $4" && tap_show
	fi
}

# ended PID: dead, if not yet reaped by whoever inherited it.
ended() {
	[ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"
}

left_behind() {
	find /sys/fs/cgroup -depth -type d -name "$T" 2>/dev/null
}

cleanup() {
	for dir in $(left_behind); do
		while read -r pid; do
			kill -KILL "$pid"
		done <"$dir/cgroup.procs"
	done
	"$WDR_BUILD/tests/helpers/cgroup_try" sweep "$T"
	rmdir "$TMPDIR/my cgroups" "$TMPDIR/$T"
}

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need unshare prlimit /usr/bin/setpriv
begin cleanup
HYBRID=$([ -f /sys/fs/cgroup/cgroup.controllers ] || echo yes)
SYSTEMD=$([ ! -d /run/systemd/system ] || echo yes)
note "hybrid: ${HYBRID:-no}, systemd: ${SYSTEMD:-no}, kernel $(uname -r)"

try check
is "every protection of this module is there" "$(echo "$OUT" | grep -c ' yes $')" 7

M=33554432
try eat memory=$M swap=0 arg=$((2 * M))
is "twice its memory kills a job" "$(value signal)" 9
between "the descriptor tells, and is quiet when told that we know" "$(value oom_told)" 1 3
between "the kill is counted" "$(value oom_kills)" 1 2
try eat arg=$((2 * M))
is "the same without a limit is fine" "$(value exit)" 0
is "and nobody tells of a kill" "$(value oom_told) $(value oom_kills)" "0 0"
for round in 1 2 3; do
	try feed memory=$M swap=0 arg=$((2 * M))
	between "round $round: a kill is seen though the main process lives" "$(value oom_kills)" 1 4
done

try breed pids=10 arg=20
is "9 children are born where 10 tasks may be" "$(value exit)" 9
between "the refusal is counted" "$(value pids_events)" 1 1
try breed arg=20
is "all 20 without a limit" "$(value exit) $(value pids_events)" "20 0"

try spin cpus=0.1 arg=1000
between "a tenth of a CPU for a second" "$(value cpu_ms)" 60 260
try slow
SLOW=$(value throttled_ms) # at most a tenth of half a second, and what a period lets through
between "a job can be slowed down later" "$SLOW" 5 80
between "when it was faster before" "$(value free_ms)" "$((SLOW + SLOW / 2))" 600
between "and stopped" "$(value frozen_ms)" 0 4
between "and let go again" "$(value thawed_ms)" "$((SLOW + SLOW / 2))" 600

try kill arg=30
is "31 processes" "$(value alive)" 31
like "can't be removed while they live" "$OUT" '^remove_alive .* busy after [0-9]+ ms'
is "all die at once" "$(value signal)" 9

try place
if [ "$HYBRID" ]; then
	for c in cpu memory pids; do
		is "one enters $c, one is brought" \
			"$(echo "$OUT" | grep -cE "^[0-9]+:([a-z]+,)*$c(,[a-z]+)*:/.*warder/$T\$")" 2
	done
fi
like "v2 is entered by birth" "$OUT" "^0::/.*warder/$T\$"

try nest arg=5
is "cgroups that a sandbox made go with the job" "$RC $(left_behind)" "0 "

try leave pids=50 arg=20
LEFT=$(value left)
fails "a killed supervisor leaves processes" ended "$LEFT"
if [ -z "$SYSTEMD" ]; then # there, each Warder's jobs have a folder of their own
	try new
	like "its cgroup is not taken over" "$ERR" "File exists: make cgroup warder/$T"
fi
try sweep
is "a sweep by name" "$RC $(left_behind)" "0 "
ok "kills them" ended "$LEFT"
try sweep
is "a sweep of nothing is fine" "$RC" 0

if [ "$HYBRID" ]; then
	mkdir -p "/sys/fs/cgroup/memory/warder/$T"
	try sweep
	is "a job that was half made is swept" "$RC $(left_behind)" "0 "
fi

try new cpus=0.0001
like "too small a share is refused" "$ERR" 'cpus limit of 0.0001: want 0.001 to'
is "and nothing is left" "$(left_behind)" ""
# At whichever descriptor it ends: named, and nothing is left.
REFUSED=0
[ -z "$SYSTEMD" ] || set -- 4 12 # a scope each time is slow
[ "$SYSTEMD" ] || set -- 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24
for n; do
	run prlimit --nofile="$n" "$WDR_BUILD/tests/helpers/cgroup_try" new "$T" pids=10
	[ "$RC" -eq 0 ] && [ -z "$(left_behind)" ] && continue
	case $RC$ERR$(left_behind) in
	1*": "*": Too many open files") REFUSED=$((REFUSED + 1)) ;;
	*) is "with $n descriptors" "$RC $ERR $(left_behind)" "1 WHAT: Too many open files " ;;
	esac
done
between "too few descriptors are refused" "$REFUSED" 1 20

# In a mount namespace of its own, with the hierarchies at other places.
cat >"$TMPDIR/moved" <<'E2'
set -e
mkdir -p "$TMPDIR/my cgroups"
mount -t tmpfs none "$TMPDIR/my cgroups"
cd "$TMPDIR/my cgroups"
mkdir two "one cpu" m p
mount -t cgroup2 none two
if [ "$HYBRID" ]; then
	mount -t cgroup -o cpu none "one cpu"
	mount -t cgroup -o memory none m
	mount -t cgroup -o pids none p
fi
umount -l /sys/fs/cgroup
exec "$WDR_BUILD/tests/helpers/cgroup_try" place "$T" memory=33554432 pids=10 cpus=0.5
E2
export HYBRID
ok "hierarchies are found where they are mounted" unshare -m sh "$TMPDIR/moved"
like "and used" "$OUT" "warder/$T\$"
is "nothing is left" "$(left_behind)" ""

cat >"$TMPDIR/readonly" <<'E2'
mount -o remount,ro,bind /sys/fs/cgroup$([ -z "$HYBRID" ] || echo /unified) || exit 9
exec "$WDR_BUILD/tests/helpers/cgroup_try" new "$T"
E2
exits "a read-only v2 is refused" 1 unshare -m sh "$TMPDIR/readonly"
like "by name" "$ERR" 'Read-only file system: make /sys/fs/cgroup.*/warder: Read-only'
# Mounted nowhere, as under ip netns exec: root mounts them for itself, others are told.
cat >"$TMPDIR/none" <<'E2'
umount -l /sys/fs/cgroup || exit 9
exec "$@" "$WDR_BUILD/tests/helpers/cgroup_try" place "$T" memory=33554432 pids=10 cpus=0.5
E2
ok "no hierarchy need be mounted" unshare -m sh "$TMPDIR/none"
like "for a job to be there" "$OUT" "warder/$T\$"
is "nothing is left" "$(left_behind)" ""
exits "an ordinary user can't mount any" 1 unshare -m sh "$TMPDIR/none" \
	/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups
like "and learns what is missing" "$ERR" 'no cgroup2 file system is mounted: want one at /sys/fs/cgroup'
exits "an ordinary user can't make any" 1 /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$WDR_BUILD/tests/helpers/cgroup_try" new "$T"
like "and learns why" "$ERR" '(denied: make /sys/fs/cgroup.*/warder: Perm|no systemd of user 65534)'
end
