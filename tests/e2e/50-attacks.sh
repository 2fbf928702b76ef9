#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attack of attacks/table is refused as a job, also without the system-call filter where that is
# not the protection it names, and gets through without the protection.
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

# stopped EXPECT WHAT
stopped() {
	case "$1 $RC $OUT" in
	"refused 1 refused: "* | "killed 137 "*) tap_result 0 "$2: $1" ;;
	*) tap_result 1 "$2: $1" || tap_show ;;
	esac
}

# attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
attack() {
	sleep 100 &
	VICTIM=$!
	inside
	job "$5" "$6"
	stopped "$3" "$1"
	# Most attacks meet the system-call filter first. What another layer is said to stop, it stops.
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
	kill "$VICTIM" 2>/dev/null
	wait "$VICTIM" 2>/dev/null
}

begin cleanup
set_up
each_attack
end
