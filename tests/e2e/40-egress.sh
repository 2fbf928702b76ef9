#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job with a network reaches what its policy allows and nothing else, is told at once, and the
# result names the rule; all of it by the kernel, whatever becomes of the supervisor.
# timeout: 120
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck disable=SC2016 # what the job's own shell expands
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need ip nft python3 jq bash
lab_up
begin
serve out 8000
serve out 9000
serve host 7000

# What a job tries: "ok" and what came back, or the errno and how long it took.
cat >/run/try.py <<'P'
# SPDX-License-Identifier: Apache-2.0
import errno, socket, sys, time
for dest in sys.argv[1:]:
	kind, addr, port = dest.split(",")
	family = socket.AF_INET6 if ":" in addr else socket.AF_INET
	s = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
	s.settimeout(3)
	start = time.time()
	try:
		if kind == "udp":
			s.sendto(b"hello", (addr, int(port)))
			print("ok")
		else:
			s.connect((addr, int(port)))
			print("ok", s.recv(100).decode().strip())
	except OSError as e:
		slow = " slow" if time.time() - start > 0.3 else ""
		print((errno.errorcode.get(e.errno, str(e))) + slow)
P
# The same from one UDP socket that is not connected, to port after port of the server.
cat >/run/one.py <<'P'
# SPDX-License-Identifier: Apache-2.0
import errno, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in sys.argv[1:]:
	try:
		s.sendto(b"hello", ("203.0.113.2", int(port)))
		print("ok")
	except OSError as e:
		print(errno.errorcode.get(e.errno, str(e)))
P
# job OPTIONS -- DEST...: its output on one line; the result in /run/r.json
job() {
	run warder run --result /run/r.json -v /run/try.py:/try.py "$@"
	echo "$RC" >/run/rc
	printf '%s\n' "$ERR" >/run/err
	printf %s "$OUT" | tr '\n' ' ' | sed 's/ $//'
}
T="python3 /try.py"
r() { jq -rc "$1" /run/r.json; }

# A socket of the host's says so at once; through gVisor it is a packet that is answered, or for UDP
# only dropped.
DENIED=EPERM
DENIED_UDP=EPERM
native || DENIED=ECONNREFUSED DENIED_UDP=ok

# shellcheck disable=SC2086
{
is "what is allowed is reached, as the host" "$(job --allow $OUT4:8000 -- $T tcp,$OUT4,8000)" "ok 203.0.113.1"
is "with its traffic counted" "$(r '[.usage.egress.packets > 2, .usage.egress.bytes > 100, .usage.ingress.packets > 1, .usage.egress.denied == 0] | all')" true
is "another port is refused at once" "$(job --allow $OUT4:8000 -- $T tcp,$OUT4,9000)" $DENIED
is "and the result says so" "$(r '.denials[] | [.to, .count, .reason, .rule] | join(" ")')" "$OUT4:9000/tcp 1 default "
is "over IPv6, too" "$(job --allow "[$OUT6]:8000" -- $T "tcp,$OUT6,8000" "tcp,$OUT6,9000")" "ok 2001:db8:1::1 $DENIED"
is "and UDP" "$(job --allow $OUT4:8000/udp -- $T udp,$OUT4,8000 udp,$OUT4,9000 tcp,$OUT4,8000)" "ok $DENIED_UDP $DENIED"
is "each datagram of one socket is judged" "$(job --allow $OUT4:8000/udp -v /run/one.py:/one.py -- python3 /one.py 8000 8000 9000 8000)" "ok ok $DENIED_UDP ok"
fails "and what is refused does not arrive" grep -q hello /run/udp.9000
is "a mapped address is the IPv4 address" "$(job --allow $OUT4:8000 -- $T tcp,::ffff:$OUT4,8000 tcp,::ffff:$OUT4,9000)" "ok 203.0.113.1 $DENIED"
is "the first rule that matches counts" "$(job --deny $OUT4:8000 --allow 203.0.113.0/24 -- $T tcp,$OUT4,8000 tcp,$OUT4,9000)" "$DENIED ok 203.0.113.1"
is "with its number" "$(r '.denials[] | [.reason, .rule] | join(" ")')" "rule 0"
cat >/run/p.json <<'P'
{"version": 1, "network": {"mode": "egress", "rules": [
	{"action": "deny", "to": "203.0.113.2", "ports": ["9000"], "name": "no-nines"},
	{"action": "allow", "to": "203.0.113.0/24", "name": "lab"}]}}
P
is "and its name" "$(job -p /run/p.json -- $T tcp,$OUT4,8000 tcp,$OUT4,9000)/$(r '.denials[0].rule_name')" "ok 203.0.113.1 $DENIED/no-nines"
run_events() { job -p /run/p.json --events /run/events -- $T tcp,$OUT4,8000 tcp,$OUT4,9000 udp,$OUT4,8000; }
is "with events" "$(run_events)" "ok 203.0.113.1 $DENIED ok"
is "each that it may speak with is told" "$(jq -rc 'select(.event == "allowed") | [.to, .reason, .rule, .rule_name, .comm] | join(" ")' /run/events | tr '\n' ',')" \
	"$OUT4:8000/tcp rule 1 lab python3,$OUT4:8000/udp rule 1 lab python3,"
is "explain says the same" "$(warder policy explain /run/p.json $OUT4:8000 $OUT4:9000 | tr '\n' ' ')" "$OUT4:8000 allow rule 1 \"lab\" $OUT4:9000 deny rule 0 \"no-nines\" "
is "all the world does not hold the host" "$(job --allow 0.0.0.0/0 -- $T tcp,203.0.113.1,7000 tcp,$OUT4,8000)" "$DENIED ok 203.0.113.1"
is "nor a network behind it" "$(r '.denials[0].reason')/$(job --allow 0.0.0.0/0 -- $T tcp,10.1.2.3,80 tcp,169.254.169.254,80)" "private/$DENIED $DENIED"
is "its own loopback is free" "$(job --allow $OUT4:8000 -- python3 -c 'import socket as s
a=s.socket(); a.bind(("127.0.0.1",0)); a.listen(); s.create_connection(a.getsockname()); print("up")')" up
like "without --net there is nothing" "$(job -- $T tcp,$OUT4,8000)" '^E(NET|HOST)UNREACH$'
is "with --net host the same rules hold" "$(job --net host --allow $OUT4:8000 -- $T tcp,$OUT4,8000 tcp,$OUT4,9000)" "ok 203.0.113.1 EPERM"

jq -n '{version: 1, network: {mode: "egress", on_deny: "kill", rules: [{action: "allow", to: "203.0.113.2", ports: ["8000"]}]}}' >/run/p.json
unlike "on_deny kill ends the job" "$(job -p /run/p.json -- sh -c "$T tcp,$OUT4,8000; $T tcp,$OUT4,9000; sleep 9; echo alive")" alive
is "with its reason" "$(cat /run/rc)/$(r .exit.reason)/$(r '.denials[0].to')" "137/egress/$OUT4:9000/tcp"

jq -n '{version: 1, privileges: {capabilities: ["CAP_NET_RAW"]}, network: {mode: "egress", rules: [{action: "allow", to: "203.0.113.2", ports: ["8000"]}]}}' >/run/p.json
cat >/run/raw.py <<'P'
# SPDX-License-Identifier: Apache-2.0
import socket, struct, sys
for port in (8000, 9000):
	udp = struct.pack("!HHHH", 4000, port, 12, 0) + b"raw!"
	s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
	try: s.sendto(udp, ("203.0.113.2", 0))
	except OSError as e: print(e.strerror)
P
job -p /run/p.json --user 0 -v /run/raw.py:/raw.py -- python3 /raw.py >/dev/null
if native; then
	ok "packets of raw sockets are judged: an allowed one arrives" wait_for 3 grep -q 'raw!' /run/udp.8000
fi
fails "and a denied one does not" grep -q 'raw!' /run/udp.9000
job --allow $OUT4:8000 -v /run/raw.py:/raw.py -- python3 /raw.py >/dev/null
like "raw sockets need the capability" "$(cat /run/err)" 'not permitted'

# shellcheck disable=SC2016 # what the job's own shell expands
LOOP='i=0; while [ $i -lt 30 ]; do i=$((i+1)); python3 /try.py tcp,203.0.113.2,8000 2>&1; sleep 0.2; done'
warder run --allow $OUT4:8000 -v /run/try.py:/try.py --result /run/r.json -- sh -c "$LOOP" >/run/loop &
PID=$!
wait_for 10 grep -q ok /run/loop
kill -STOP $PID
sleep 3.5
kill -CONT $PID
wait $PID
}
# What it wrote while the supervisor was stopped came out afterwards, in its order.
is "a stopped supervisor's job loses its network, and gets it back" "$(uniq /run/loop | sed 's/ .*//' | uniq | tr '\n' ' ')" "ok $DENIED ok "
is "with that reason" "$(r '[.denials[].reason] | unique | join(" ")')" supervisor-lost
jq -n '{version: 1, on_supervisor_loss: "contain", network: {mode: "egress", rules: [{action: "allow", to: "203.0.113.2", ports: ["8000"]}]}}' >/run/p.json
warder run -p /run/p.json -v /run/try.py:/try.py -- sh -c "$(echo "$LOOP" | sed 's/30/20/')" >/run/loop &
PID=$!
wait_for 10 grep -q ok /run/loop
kill -STOP $PID
sleep 3.5
kill -CONT $PID
wait $PID
is "unless the policy says contain" "$(uniq /run/loop | sed 's/ .*//' | uniq | tr '\n' ' ')" "ok "

warder run --allow $OUT4:8000 -v /run/try.py:/try.py -- sh -c 'echo up; sleep 2; python3 /try.py tcp,203.0.113.2,8000' >/run/loop 2>/run/err &
PID=$!
wait_for 10 grep -q up /run/loop
nft flush ruleset
wait $PID
is "rules that somebody flushes are made again" "$(tail -n 1 /run/loop)" "ok 203.0.113.1"
like "and it is said" "$(cat /run/err)" 'made again'

warder run --allow $OUT4:8000 -- sleep 98765 &
PID=$!
wait_for 10 ip link show dev wdr0 >/dev/null 2>&1
kill -KILL $PID
warder run -- true
ok "kill -9: the next command leaves no interface" wait_for 3 links_gone
warder run --allow $OUT4:8000 -- true
is "and no table of rules" "$(nft list tables)" ""
is "nor a slot" "$(find /run/warder/net -type f -name '[0-9]*' | wc -l)" 0
end
