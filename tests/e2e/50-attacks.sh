#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attack of attacks/table is refused as a job, also without the system-call filter where that is
# not the protection it names, and gets through without the protection. In gVisor (52-runsc-attacks.sh) it is
# refused as well. Whatever the job says of itself, the host is as it was.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
SOURCES=$(dirname "$0")/attacks
# shellcheck source=tests/e2e/attacks/lib.sh
. "$SOURCES/lib.sh"

# control PROTECTION CONTROL OPTIONS COMMAND
control() {
	outside
	case $2 in
	bare) eval "run $4" ;;
	user) eval "run /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups $4" ;;
	scratch)
		eval "run /usr/bin/unshare --mount --pid --fork --kill-child --mount-proc --ipc --uts \
			sh -c 'trap \"exit 0\" HUP INT QUIT TERM; \"\$@\" & wait \$!' sh $4"
		;;
	with*)
		inside
		job "${2#with }" "$4"
		;;
	off)
		case $1 in *mount_ns*) ;; *) inside ;; esac
		WARDER_DISABLE=$1
		export WARDER_DISABLE
		job "--allow-degraded $3" "$4"
		unset WARDER_DISABLE
		;;
	*)
		RC=2
		OUT="no control \"$2\""
		;;
	esac
}

# What attacks would change, as the host sees it.
host() {
	uname -n
	cat /proc/sys/vm/swappiness /proc/sys/kernel/core_pattern "$CG_LIMIT" "$TMPDIR/d/file"
	md5sum "$TMPDIR/d/victim" "$A"/*
	ls -A / /dev /etc /usr "$TMPDIR/d"
	cut -d " " -f 1-3 /proc/mounts /proc/swaps
}

# attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
attack() {
	sleep 100 &
	VICTIM=$!
	inside
	job "$5" "$6"
	stopped "$3" "$1"
	native && layers "$@"
	kill "$VICTIM" 2>/dev/null
	wait "$VICTIM" 2>/dev/null
}

# The same, without what would stop it first, and without what is said to stop it.
layers() {
	case $2 in
	*seccomp*) ;;
	*)
		export WARDER_DISABLE=seccomp
		job "--allow-degraded $5" "$6"
		unset WARDER_DISABLE
		stopped "$3" "$1, without seccomp"
		;;
	esac
	control "$2" "$4" "$5" "$6"
	case "$RC $OUT" in
	*"Function not implemented" | *"Address family not supported by protocol")
		note "$1: not in this kernel: $OUT"
		;;
	"0 "*) tap_result 0 "$1: gets through, $4" ;;
	*) tap_result 1 "$1: gets through, $4" || tap_show ;;
	esac
}

begin cleanup
set_up
before=$(host 2>&1)
each_attack
is "the host is as it was, whatever the jobs said" "$(host 2>&1)" "$before"
echo changed >"$TMPDIR/d/file"
fails "or else it shows" test "$(host 2>&1)" = "$before"
end
