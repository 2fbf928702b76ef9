#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The runner counts right, and does not let a bad test pass; tap.sh says what was wrong.
# shellcheck disable=SC2016 # the tests written here expand later
. "$(dirname "$0")/tap.sh"

# script NAME TEXT: a test for the runner to run.
script() {
	printf '#!/bin/sh\n%s\n' "$2" >"$TREE/tests/$1"
	chmod +x "$TREE/tests/$1"
}

runner() {
	(cd "$TREE" && "$TREE/tests/lib/run.py" --tier "$@")
}

# counts WHAT "P passed, F failed, S skipped" [NAME=VALUE] TEST: what the runner makes of one test.
counts() {
	what=$1
	want=$2
	shift 2
	rm -rf "$TREE/build"
	run env WDR_MUST_RUN=0 "$@" "$TREE/tests/lib/run.py" --tier unit "$TREE/tests/t"
	shown=$OUT
	run "$TREE/tests/lib/run.py" --total
	is "$what" "$OUT" "$want"
}

begin
TREE=$TMPDIR/tree
export TREE WDR_TEST_LOCK="$TREE/lock"
mkdir -p "$TREE/tests/lib"
cp "$TOP"/tests/lib/run.py "$TOP"/tests/lib/tap.sh "$TREE/tests/lib/"

script t 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
counts "two of two" "2 passed, 0 failed, 0 skipped"
script t 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo "# why"; exit 1'
counts "one of two" "1 passed, 1 failed, 0 skipped"
like "why is shown" "$shown" '# why'
unlike "what passed is not" "$shown" 'ok 1 - a'
script t 'echo 1..2; echo ok 1 - a'
counts "one missing" "1 passed, 1 failed, 0 skipped"
script t 'echo ok 1 - a; exit 0'
counts "no plan" "1 passed, 1 failed, 0 skipped"
script t 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
counts "a crash behind the last test" "1 passed, 1 failed, 0 skipped"
script t 'echo 1..1; echo ok 1 - a; exit 3'
counts "a bad exit status behind the last test" "1 passed, 1 failed, 0 skipped"
script t 'echo 1..2; echo "ok 1 - a # SKIP no kernel"; echo ok 2'
counts "a skip inside" "1 passed, 0 failed, 1 skipped"
like "and its reason" "$shown" 'skipped: no kernel'
counts "a skip where none may be" "1 passed, 1 failed, 0 skipped" WDR_MUST_RUN=1
script t 'echo "1..0 # SKIP not here"; exit 77'
counts "a whole file skipped" "0 passed, 0 failed, 1 skipped"
script t 'echo no such thing here; exit 77'
counts "skipped without TAP" "0 passed, 0 failed, 1 skipped"
counts "which may not be" "0 passed, 1 failed, 0 skipped" WDR_MUST_RUN=1
script t 'exit 0'
counts "no TAP, good" "1 passed, 0 failed, 0 skipped"
script t 'exit 1'
counts "no TAP, bad" "0 passed, 1 failed, 0 skipped"
script t '# timeout: 1
echo 1..1; echo ok 1; sleep 8160'
counts "too late" "1 passed, 1 failed, 0 skipped"
like "and it says so" "$shown" 'no end after 1 s'
script t 'echo 1..1; sleep 8161 & echo ok 1'
counts "a process left behind" "1 passed, 1 failed, 0 skipped"
like "is named" "$shown" 'left process [0-9]+ behind: sleep 8161'
script t 'echo 1..1; setsid env -i sleep 8162 & sleep 0.1; echo ok 1'
counts "one that hid in another session" "1 passed, 1 failed, 0 skipped"
script t 'touch "$TREE/started"; sleep 8160'
"$TREE/tests/lib/run.py" --tier unit "$TREE/tests/t" >"$TREE/log" &
wait_for 5 test -f "$TREE/started"
kill $!
exits "a runner that is told to stop" 143 wait $!
fails "and none of them lives on" pgrep -f '^sleep 816[012]$'
script t '. "$(dirname "$0")/lib/tap.sh"
cleanup() { echo gone >>"$TREE/cleaned"; }
begin cleanup
ok "works" true
ok "does not" false
is "differs" a b
fails "cannot start" /nonexistent
end'
counts "tap.sh" "1 passed, 3 failed, 0 skipped"
like "got is shown" "$shown" '# got:  a'
like "the exit status is shown" "$shown" '# exit status 1'
is "cleaned before and after" "$(cat "$TREE/cleaned")" "gone
gone"
rm -rf "$TREE/build"
run runner integration "$TREE/tests/nonexistent"
is "a test that is not there fails" "$RC" 1
script t 'exit 0'
run timeout 20 "$TREE/tests/lib/run.py" --tier bpf "$TREE/tests/t" --tier e2e "$TREE/tests/t"
is "tiers that share one lock run one after the other" "$RC" 0
run runner unit
run "$TREE/tests/lib/run.py" --total
is "no test at all is no success" "$RC" 1
end
