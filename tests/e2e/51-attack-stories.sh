#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attacks that take more than one command: what is handed in, what is left behind, what is shared.
# timeout: 90
. "$(dirname "$0")/../lib/tap.sh"

ATTACKS=${WDR_BUILD%/*}/plain/tests/e2e/attacks
NAME=$T_LINK # of a process, at most 15 characters

set_up() {
	chmod 755 "$TMPDIR"
	A=$TMPDIR/a
	mkdir "$A" "$TMPDIR/d" "$TMPDIR/own"
	cp "$ATTACKS"/*[a-z] "$A"
	rm -f "$A"/*.o "$A"/*.d
	printf '#!/proc/self/exe\n' >"$A/script"
	chmod 755 "$A/script"
	echo secret >"$TMPDIR/d/file"
	chown 4321:4322 "$TMPDIR/own"
	chmod 777 "$TMPDIR/own"
}

cleanup() {
	pkill -KILL -x "$NAME"
	rmdir "/etc/$T" "/tmp/$T"
}

# job OPTION... -- COMMAND...
job() {
	warder run -q -v "$A:/attacks" -v "$TMPDIR/d:/data" "$@"
}

# without PROTECTIONS OPTION... -- COMMAND...
without() {
	names=$1
	shift
	WARDER_DISABLE=$names warder run -q --allow-degraded -v "$A:/attacks" -v "$TMPDIR/d:/data" "$@"
}

refused() {
	what=$1
	shift
	run "$@"
	case "$RC $OUT" in
	1*"refused: "*) tap_result 0 "$what" ;;
	*) tap_result 1 "$what" || tap_show ;;
	esac
}

milliseconds() {
	date +%s%N | cut -c -13
}

# fed FILE COMMAND...: with FILE as its standard input
fed() {
	file=$1
	shift
	"$@" <"$file"
}

handed_in() {
	exec 9<"$TMPDIR/d/file"
	refused "no descriptor of the caller's is there" job -- /attacks/files inherited
	ok "it would be, of a child" "$A/files" inherited
	exec 9<&-
	refused "standard input is not the caller's file" \
		fed "$TMPDIR/d/file" job -- /attacks/files stdio /data/file
	ok "it would be, of a child" \
		fed "$TMPDIR/d/file" "$A/files" stdio "$TMPDIR/d/file"
}

keys() {
	refused "the session's keys are out of reach" \
		"$A/others" with-key "$T" warder run -q -v "$A:/attacks" -- /attacks/others key "$T"
	ok "a job with the caller's keyring reads them" env WARDER_DISABLE=seccomp,keyring \
		"$A/others" with-key "$T" \
		warder run -q --allow-degraded -v "$A:/attacks" -- /attacks/others key "$T"
}

# typed COMMAND: run on a terminal of its own
typed() {
	script -qec "$1" /dev/null
}

terminal() {
	refused "no typing into the caller's terminal" \
		typed "warder run -q -T -v $A:/attacks -- /attacks/others tiocsti"
	refused "nor into the job's own" \
		typed "warder run -q -i -v $A:/attacks -- /attacks/others tiocsti"
	ok "it is seccomp that refuses" \
		typed "WARDER_DISABLE=seccomp warder run -q -i --allow-degraded -v $A:/attacks \
			-- /attacks/others tiocsti"
}

daemons() {
	start=$(milliseconds)
	ok "a job may leave a daemon that ignores every signal" job -- /attacks/others daemon "$NAME"
	is "nothing of it is there afterwards" "$(pgrep -cx "$NAME")" 0
	ok "nobody waited for it" test $(($(milliseconds) - start)) -lt 3000
	ok "a process of the host may leave one, too" sh -c '"$@" >/dev/null' sh \
		"$A/others" daemon "$NAME"
	is "and that stays" "$(pgrep -cx "$NAME")" 1
	pkill -KILL -x "$NAME"
	start=$(milliseconds)
	exits "who ignores SIGTERM is out of time all the same" 124 \
		job -t 500ms -- sh -c 'trap "" TERM INT HUP; while :; do sleep 1; done'
	ok "at once" test $(($(milliseconds) - start)) -lt 3000
	exits "so is who stops itself" 124 job -t 500ms -- sh -c 'kill -STOP $$'
	ok "closing every descriptor hurts nobody" job -- sh -c 'exec <&- >&- 2>&-; sleep 0.1'
}

files_outside() {
	ok "a file can be made in a mount" job -v "$TMPDIR/own:/own:rw" -- touch /own/new
	is "it is the folder's owner's" "$(stat -c %u:%g "$TMPDIR/own/new")" 4321:4322
	ok "without idmapped mounts, too" without idmap -v "$TMPDIR/own:/own:rw" -- touch /own/other
	unlike "but then it is not" "$(stat -c %u "$TMPDIR/own/other")" '^4321$'
	ln -s /etc "$TMPDIR/d/etc"
	ln -s ../../../../../../../../tmp "$TMPDIR/d/up"
	run job -v "$TMPDIR/own:/data/etc/$T" -- true
	run job -v "$TMPDIR/own:/data/up/$T" -- true
	run job -v "$TMPDIR/own:/../../../tmp/$T" -- true
	fails "a target through a link makes nothing in /etc" test -e "/etc/$T"
	fails "nor in /tmp" test -e "/tmp/$T"
	is "nor in the mount" "$(find "$TMPDIR/d" -name "$T")" ""
}

clutter() {
	start=$(milliseconds)
	ok "1,500 folders deep" job -- /attacks/greed deep /tmp/deep 1500
	ok "50,000 links" job -- /attacks/greed names /tmp/names 50000
	ok "do not slow the end of a job" test $(($(milliseconds) - start)) -lt 15000
}

# second COMMAND...: run it while the first holds all that its user may have
second() {
	mkfifo "$TMPDIR/hold"
	"$@" inotify 10000 hold <"$TMPDIR/hold" >"$TMPDIR/first" 2>&1 &
	first=$!
	exec 8>"$TMPDIR/hold"
	wait_for 10 grep -q . "$TMPDIR/first"
	run "$@" inotify 1
	exec 8>&-
	wait $first
	rm "$TMPDIR/hold"
}

quotas() {
	second job -- /attacks/greed
	is "two jobs do not share their user's quotas" "$RC" 0
	like "though the first took all of it" "$(cat "$TMPDIR/first")" '^refused: [1-9]'
	second setpriv --reuid=65534 --regid=65534 --clear-groups "$A/greed"
	is "two processes of a user do" "$RC" 1
}

# ordinary PROTECTIONS OPTION... -- COMMAND...: as nobody, by a warder that is nobody's
ordinary() {
	names=$1
	shift
	env WARDER_DISABLE="$names" /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$TMPDIR/bin/warder" run -q --allow-degraded -v "$A:/attacks" "$@"
}

warders_own_file() {
	exits "a script can't be run by /proc/self/exe, which is warder" 126 job -- /attacks/script
	refused "nor could it write to warder if it were, without Landlock" without landlock \
		-e WARDER_ATTACK=/attacks/files -e LD_PRELOAD=/attacks/preload.so -- /attacks/script
	ok "who is root on the host can" env WARDER_ATTACK="$A/files" LD_PRELOAD="$A/preload.so" \
		warder version
	# Who runs a warder of his own is its owner inside, too: there Landlock alone stands in the way.
	mkdir "$TMPDIR/bin"
	cp "$(command -v warder)" "$TMPDIR/bin/warder"
	chown -R 65534:65534 "$TMPDIR/bin"
	exits "nor can an ordinary user's be run by it" 126 ordinary "" -- /attacks/script
	run ordinary landlock -e WARDER_ATTACK=/attacks/files -e LD_PRELOAD=/attacks/preload.so \
		-- /attacks/script
	like "which without Landlock could be written to" "$OUT" "^got through"
}

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need script pgrep pkill setpriv mkfifo
begin cleanup
set_up
handed_in
keys
terminal
daemons
files_outside
clutter
quotas
warders_own_file
end
