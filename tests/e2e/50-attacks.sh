#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attack of attacks/table is refused as a job, and gets through without the protection.
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

# attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
attack() {
	sleep 100 &
	VICTIM=$!
	inside
	job "$5" "$6"
	case "$3 $RC $OUT" in
	"refused 1 refused: "* | "killed 137 "*) tap_result 0 "$1: $3" ;;
	*) tap_result 1 "$1: $3" || tap_show ;;
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
