# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# TAP for shell tests, in POSIX sh (dash, and busybox in the guests of check-kernels).
#
#	#!/bin/sh
#	# SPDX-License-Identifier: Apache-2.0
#	# What this test shows.
#	# timeout: 20
#	. "$(dirname "$0")/../lib/tap.sh"
#	cleanup() { ip netns del "$T"; }
#	begin cleanup
#	ok "a namespace can be made" ip netns add "$T"
#	run warder version
#	is "it knows its version" "$RC" 0
#	like "it is warder's" "$OUT" '^warder [0-9]'
#	end
#
# T is a name that is the test's own: name namespaces, cgroups and files after it; T_LINK is short
# enough for a network interface (15 characters) with two more behind it. PATH begins with our
# programs. A test that stops before `end` has failed, since its plan is missing.

T=wdr-$(basename "$0" .sh)
T_LINK=w$(echo "$T" | md5sum | cut -c 1-8)
TOP=$(cd "$(dirname "$0")/../.." && pwd)
WDR_BUILD=${WDR_BUILD:-$TOP/build/plain}
PATH=$WDR_BUILD/bin:$PATH:/usr/sbin:/sbin
# Which backend `warder run` takes where a test does not say: a test of the other one sets it and
# tells the same story again, with the runsc that its argument names (new, latest, old). A runsc that happens to be
# on PATH changes nothing.
WDR_BACKEND=${WDR_BACKEND:-native}
WDR_RUNSC=${WDR_RUNSC:-$TOP/build/runsc/${1:-new}/runsc}
WARDER_RUNSC=/no/runsc
[ "$WDR_BACKEND" != runsc ] || WARDER_RUNSC=$WDR_RUNSC
# A test that is run by hand, without the runner, must not take the machine's own for its playground.
[ "${TMPDIR:-/tmp}" != /tmp ] || TMPDIR=$(mktemp -d)
export T T_LINK TOP WDR_BUILD PATH TMPDIR WDR_BACKEND WARDER_RUNSC
tap_n=0
tap_bad=0
tap_undo=:
RC=0
OUT=
ERR=

tap_exit() {
	tap_rc=$?
	trap '' INT TERM
	$tap_undo >/dev/null 2>&1
	rm -rf "$TMPDIR/tap-bin.$$"
	exit $tap_rc
}

# begin [CLEANUP]: CLEANUP runs now, for what an earlier run left, and when the test ends, however.
begin() {
	tap_undo=${1:-:}
	$tap_undo >/dev/null 2>&1 || :
	trap tap_exit EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	native || tap_backend
}

# native: whether this is a story of the native backend, for what only it can tell.
native() { [ "$WDR_BACKEND" = native ]; }

# sanitized: whether our programs carry the sanitizers (check-san-e2e), which need memory and /proc of their own.
sanitized() { [ "$(basename "$WDR_BUILD")" = san ]; }

# Put a `warder` first on PATH that runs jobs on the backend under test, whoever calls it.
tap_backend() {
	[ "$WDR_BACKEND" != runsc ] || [ -x "$WDR_RUNSC" ] || skip_all "needs $WDR_RUNSC (packaging/runsc.sh)"
	mkdir -p "$TMPDIR/tap-bin.$$"
	cat >"$TMPDIR/tap-bin.$$/warder" <<-'EOS'
		#!/bin/sh
		[ "$1" = run ] || exec "$WDR_BUILD/bin/warder" "$@"
		shift
		exec "$WDR_BUILD/bin/warder" run -b "$WDR_BACKEND" "$@"
	EOS
	chmod +x "$TMPDIR/tap-bin.$$/warder"
	PATH=$TMPDIR/tap-bin.$$:$PATH
}

# end: print the plan and exit.
end() {
	echo "1..$tap_n"
	[ "$tap_bad" -eq 0 ]
	exit
}

tap_result() {
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$tap_n" "$2"
	else
		tap_bad=$((tap_bad + 1))
		printf 'not ok %d - %s\n' "$tap_n" "$2"
	fi
	return "$1"
}

# note TEXT: for a person who reads why a test failed.
note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# run COMMAND...: its exit status into RC, its output into OUT and ERR (without final newlines).
run() {
	RC=0
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || RC=$?
	OUT=$(cat "$TMPDIR/out")
	ERR=$(cat "$TMPDIR/err")
}

tap_show() {
	note "exit status $RC"
	note "stdout: $(printf %s "$OUT" | head -c 2000)"
	note "stderr: $(printf %s "$ERR" | head -c 2000)"
}

# ok WHAT COMMAND...: the command succeeds.
ok() {
	tap_what=$1
	shift
	run "$@"
	tap_result "$RC" "$tap_what" || { tap_show && return 0; }
}

# fails WHAT COMMAND...: the command runs and does not succeed (126 and 127 are no refusal).
fails() {
	tap_what=$1
	shift
	run "$@"
	case $RC in
	0 | 126 | 127) tap_result 1 "$tap_what" || tap_show ;;
	*) tap_result 0 "$tap_what" ;;
	esac
}

# exits WHAT STATUS COMMAND...: the command ends with that status.
exits() {
	tap_what=$1
	tap_want=$2
	shift 2
	run "$@"
	if [ "$RC" -eq "$tap_want" ]; then
		tap_result 0 "$tap_what"
	else
		tap_result 1 "$tap_what" || note "want exit status $tap_want" && tap_show
	fi
}

# is WHAT GOT WANT: the same text.
is() {
	if [ "$2" = "$3" ]; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1" || note "got:  $2" && note "want: $3"
	fi
}

# like WHAT GOT ERE: some line of GOT matches.
like() {
	if printf '%s\n' "$2" | grep -qE -e "$3"; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1" || note "got:  $2" && note "want: $3"
	fi
}

# unlike WHAT GOT ERE: no line of GOT matches.
unlike() {
	if printf '%s\n' "$2" | grep -qE -e "$3"; then
		tap_result 1 "$1" || note "got:      $2" && note "unwanted: $3"
	else
		tap_result 0 "$1"
	fi
}

# skip WHAT WHY: in place of one check.
skip() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# skip_all WHY: in place of the whole test.
skip_all() {
	echo "1..0 # SKIP $*"
	exit 77
}

# need PROGRAM...: skip the test where one is missing.
need() {
	for tap_cmd; do
		command -v "$tap_cmd" >/dev/null || skip_all "needs $tap_cmd"
	done
}

# wait_for SECONDS COMMAND...: try until it succeeds, at most so long by the clock (or once). For what gives no event.
wait_for() {
	read -r tap_until _ </proc/uptime
	tap_until=$((${tap_until%.*} + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		read -r tap_now _ </proc/uptime
		[ "${tap_now%.*}" -lt "$tap_until" ] || return 1
		sleep 0.02
	done
}
