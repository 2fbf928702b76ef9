#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The result object: always one, always valid by its schema, and true.
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq
begin

valid() { # the schema's word on standard input
	/usr/bin/python3 -c 'import json,sys,jsonschema
jsonschema.Draft202012Validator(json.load(open(sys.argv[1]))).validate(json.load(sys.stdin))' "$TOP/docs/result.schema.json"
}

q() { printf %s "$OUT" | jq -r "$1"; }

run warder run --json -- python3 -c 'print(40+2)'
is "--json prints the object and nothing else" "$(q '.stdout, .exit.reason, .exit.code, .backend, .version' | tr '\n' ' ')" "42  exited 0 $WDR_BACKEND 1 "

for args in "-- false" "-t 100ms -- sleep 9" "-m 32M -- python3 -c 'x=bytearray(99<<20)'" "--output 10 -- yes" \
	"-- no-such-program" "-p no-such-policy -- true" "--net egress -- true" "-b runsc -- /no-such-program" \
	"--name my.job -- sh -c 'kill -SEGV \$\$'" "-- sh -c 'printf \"\\\\200\"'" "-v /no/such/source:/x -- true"; do
	eval "warder run --json $args" >"$TMPDIR/r.json" 2>/dev/null
	valid <"$TMPDIR/r.json" 2>"$TMPDIR/why"
	tap_result $? "valid for: $args" || note "$(head -c 500 "$TMPDIR/why"; head -c 500 "$TMPDIR/r.json")"
done

run warder run --json -- no-such-program
is "what never ran was ended by no signal" "$(q '.exit | [.reason, .code, .signal | tostring] | join(" ")')" "error 127 null"
run warder run --result "$TMPDIR/r.json" -- sh -c 'echo out; echo err >&2; exit 5'
is "--result streams as well" "$OUT/$ERR/$RC" "out/err/5"
is "and writes the same object" "$(jq -r '.stdout, .stderr, .exit.code' "$TMPDIR/r.json" | tr '\n' ' ')" "out  err  5 "
exits "an unwritable --result is refused" 125 warder run --result /no/such/dir/r.json -- sh -c "touch $TMPDIR/ran"
like "and named" "$ERR" '/no/such/dir/r.json'
ok "before anything starts" test ! -e "$TMPDIR/ran"

run warder run --json -- sh -c 'printf "\200\377"'
is "bytes that are no text come in base64" "$(q '.stdout_encoding, .stdout, .stdout_bytes' | tr '\n' ' ')" "base64 gP8= 2 "
run warder run --json --output 4 -- printf 'aaa\303\244'
is "a text is cut between characters" "$(q '.stdout, .stdout_encoding, .stdout_truncated, .exit.reason' | tr '\n' ' ')" "aaa utf-8 true output-limit "
run warder run --json -- printf 'tab\t"quote" \\ \001 \342\202\254'
is "and escaped as JSON wants it" "$(q .stdout)" "$(printf 'tab\t"quote" \\ \001 \342\202\254')"

run warder run --json -- sh -c 'sleep 0.3; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
is "times add up" "$(q '[.usage.wall_ns > 3e8, .usage.wall_ns < 5e9, .usage.cpu_ns > 1e6, .usage.cpu_ns < 2e9, .usage.start_ns > 0, .usage.start_ns < 3e9, .usage.memory_peak_bytes > 1e5] | all')" true
run warder run --json --name a-label -- true
is "a label is kept" "$(q .name)" a-label
exits "a bad label is refused" 125 warder run --name 'a b' -- true
run warder run --json -- true
is "all asked protections are on" "$(q '[.protections | to_entries[] | select(.key != "degraded") | .value] | unique | join(" ")')" "off on"
is "and none is missing" "$(q '.protections.degraded | length')" 0
WARDER_DISABLE=landlock run warder run --json -- true
is "one turned off is a refusal" "$RC/$(q '.exit.reason')" 125/error
WARDER_DISABLE=landlock run warder run --json --allow-degraded -- true
is "or, allowed, in the result" "$RC/$(q '.protections.degraded[0], .protections.landlock' | tr '\n' ' ')" "0/landlock missing "
WARDER_DISABLE=lanlock run warder run -- true
is "an unknown name is an error" "$RC" 125
like "with the right one" "$ERR" 'landlock'
exits "a full disk is reported" 125 warder run --result /dev/full -- true
like "with the file's name" "$ERR" '/dev/full: .*No space left'
end
