#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The attacks of tests/e2e/attacks/table on this kernel: refused. All that need no options of their
# own are tried by one job, since starting one costs most of the time here; tests/e2e/50-attacks.sh
# shows that each gets through without its protection.
# timeout: 60
. "$(dirname "$0")/../../lib/tap.sh"
SOURCES=$(dirname "$0")/../../e2e/attacks
# shellcheck source=tests/e2e/attacks/lib.sh
. "$SOURCES/lib.sh"

# attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
attack() {
	inside
	case $5 in
	"") printf 'echo "@ %s"; %s\n' "$1" "$(eval "echo \"$6\"")" >>"$A/all" ;;
	"--user 0") printf 'echo "@ %s"; %s\n' "$1" "$(eval "echo \"$6\"")" >>"$A/all-root" ;;
	*)
		job "$5" "$6"
		stopped "$3" "$1"
		;;
	esac
}

# together SCRIPT OPTIONS
together() {
	inside
	job "-t 5m $2" "sh $P/$1 ${WRITABLE:+$O}"
	said=$OUT
	[ -z "$ERR" ] || note "$ERR"
	want=$(grep -c '^echo .@' "$A/$1")
	is "all of $1 were tried" "$(printf '%s\n' "$said" | grep -c '^@')" "$want"
	printf '%s\n' "$said" >"$TMPDIR/said"
	while read -r line; do
		case $line in
		"@ "*) name=${line#@ } ;;
		*)
			case $line in "refused: "*) refused=0 ;; *) refused=1 ;; esac
			tap_result $refused "$name: refused" || note "$line"
			;;
		esac
	done <"$TMPDIR/said"
}

begin cleanup
hostname guest
set_up
sleep 100 &
export VICTIM=$!
each_attack
together all ""
together all-root "--user 0"
end
