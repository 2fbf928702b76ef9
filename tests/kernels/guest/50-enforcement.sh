#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the kernel side does for a job on this kernel: rules for its network, on a wire of its own and on the host's, counts, the
# CPU budget, and both with the supervisor stopped. Few jobs that do much: starting one costs most of the time here.
# timeout: 60
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../../lib/net_lab.sh"
# shellcheck disable=SC2016 # what the job's own shell expands
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../lib/tap.sh"
lab_up
begin
serve out 8000
serve out 9000

# Each of its arguments is tried once; "loop,ADDR,PORT" for ever, and each change noted.
cat >/run/try.py <<'P'
# SPDX-License-Identifier: Apache-2.0
import errno, socket, sys, time
def attempt(kind, addr, port):
	family = socket.AF_INET6 if ":" in addr else socket.AF_INET
	s = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
	s.settimeout(20)
	try:
		if kind == "udp":
			return "ok" if s.sendto(b"hello", (addr, int(port))) else "?"
		s.connect((addr, int(port)))
		return "ok" if s.recv(100) else "?"
	except OSError as e:
		return errno.errorcode.get(e.errno, str(e))
last = None
for dest in sys.argv[1:]:
	kind, addr, port = dest.split(",")
	while kind == "loop":
		got = attempt("tcp", addr, port)
		if got != last:
			with open("/tmp/log", "a") as f:
				f.write(got + "\n")
		last = got
		time.sleep(0.1)
	print(attempt(kind, addr, port))
P
job() {
	run warder run -t 5m --result /run/r.json -v /run/try.py:/try.py "$@"
	OUT=$(printf %s "$OUT" | tr '\n' ' ')
	[ -z "$ERR" ] || note "$ERR"
}
r() { jq -rc "$1" /run/r.json; }
# children_of PID: each with its state, one a line.
children_of() { sed -n "s/^\([0-9]*\) (.*) \([A-Z]\) $1 .*/\1 \2/p" /proc/[0-9]*/stat 2>/dev/null; }
RULES="--allow $OUT4:8000 --allow [$OUT6]:8000 --allow $OUT4:8000/udp"
EACH="tcp,$OUT4,8000 tcp,$OUT4,9000 tcp,$OUT6,8000 tcp,$OUT6,9000 udp,$OUT4,8000 udp,$OUT4,9000
	tcp,::ffff:$OUT4,8000 tcp,::ffff:$OUT4,9000"
WANT="ok EPERM ok EPERM ok EPERM ok EPERM"

# shellcheck disable=SC2086 # lists of words
{
job $RULES --syscalls --events /run/events -- python3 /try.py $EACH
is "a wire of its own: what is allowed is reached, and nothing else" "$OUT" "$WANT"
is "each denial is in the result" "$(r '[.denials[] | [.to, .count, .reason]] | sort')" \
	"[[\"$OUT4:9000/tcp\",2,\"default\"],[\"$OUT4:9000/udp\",1,\"default\"],[\"[$OUT6]:9000/tcp\",1,\"default\"]]"
is "and among the events" "$(jq -r 'select(.event == "denied") | .to' /run/events | sort | tr '\n' ' ')" \
	"$OUT4:9000/tcp $OUT4:9000/udp [$OUT6]:9000/tcp "
is "and with whom it spoke" "$(jq -r 'select(.event == "allowed") | .to' /run/events | sort | tr '\n' ' ')" \
	"$OUT4:8000/tcp $OUT4:8000/tcp $OUT4:8000/udp [$OUT6]:8000/tcp "
is "traffic is counted" "$(r '[.usage.egress.packets > 5, .usage.ingress.packets > 3, .usage.egress.denied == 4] | all')" true
is "and so are calls" "$(r '.usage.syscalls | [.origin, .by_name.connect, .lost] | join(" ")')" "host 6 0"
job --net host $RULES -- python3 /try.py $EACH
is "the host's wire: the same" "$OUT" "$WANT"
fails "nothing that was refused has arrived" grep -q hello /run/udp.9000

jq -n '{version: 1, network: {mode: "egress", on_deny: "kill"}}' >/run/p.json
job -p /run/p.json -- sh -c "python3 /try.py tcp,$OUT4,9000; sleep 100; echo alive"
is "a denial can cost the life" "$RC/$(r .exit.reason)" 137/egress
unlike "before anything else" "$OUT" alive

warder run -t 5m $RULES -v /run/try.py:/try.py --result /run/r.json -- python3 /try.py loop,$OUT4,8000 &
PID=$!
# Through the root of its first process: what it prints would wait for the supervisor.
inside() {
	for p in $(children_of "$PID" | sed 's/ .*//'); do
		[ ! -e "/proc/$p/root/tmp/log" ] || echo "/proc/$p/root/tmp"
	done
}
last_seen() { [ "$(tail -n 1 "$(inside)/log")" = "$1" ]; }
ok "a job reaches out" wait_for 60 last_seen ok
kill -STOP $PID
ok "and no longer while its supervisor is stopped" wait_for 60 last_seen EPERM
kill -CONT $PID
ok "and does again" wait_for 60 last_seen ok
kill $PID
wait $PID
is "with the reason in the result" "$(r '[.denials[].reason] | unique | join(" ")')" supervisor-lost
}

job --cpus 1 --cpu-time 300ms -- sh -c 'while :; do :; done'
is "the CPU budget ends a job" "$RC/$(r .exit.reason)" 137/cpu-budget
warder run -t 5m --cpus 1 --cpu-time 1s --result /run/r.json -- sh -c 'echo go; while :; do :; done' >/run/go 2>/run/err &
PID=$!
wait_for 60 grep -q go /run/go
kill -STOP $PID
none_left() { ! children_of "$PID" | grep -qv 'Z$'; }
fails "it runs" none_left
ok "also while the supervisor is stopped" wait_for 60 none_left
kill -CONT $PID
RC=0
wait $PID || RC=$?
is "and the reason is known afterwards" "$RC/$(r .exit.reason)" 137/cpu-budget
end
