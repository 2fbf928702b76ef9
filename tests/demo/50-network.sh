# shellcheck shell=sh disable=SC2034 # what demo.sh reads
# SPDX-License-Identifier: Apache-2.0
# Part of demo.sh: two servers in a network namespace of the demo's, and a job that may reach one.

demo_net_down() {
	# shellcheck disable=SC2086 # one word a process
	[ -z "${demo_servers:-}" ] || kill $demo_servers
	ip netns del warder-demo
} 2>/dev/null

demo_net_up() {
	demo_net_down
	ip netns add warder-demo &&
		ip link add wdemo0 type veth peer name eth0 netns warder-demo &&
		ip addr add 203.0.113.1/24 dev wdemo0 &&
		ip link set wdemo0 up &&
		ip -n warder-demo addr add 203.0.113.2/24 dev eth0 &&
		ip -n warder-demo link set eth0 up || return
	for port in 8000 9000; do
		ip netns exec warder-demo python3 "$TOP/tests/demo/hello.py" $port &
		demo_servers="${demo_servers:-} $!"
	done
	tries=0
	until ip netns exec warder-demo sh -c 'ss -tln | grep -q :8000 && ss -tln | grep -q :9000'; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || return
		sleep 0.1
	done
}

# gVisor: what the tests have built, else what is on PATH, else the distribution's package.
demo_find_runsc() {
	for WARDER_RUNSC in "$TOP/build/runsc/new/runsc" "$(command -v runsc)" "$TOP/build/runsc/old/runsc"; do
		export WARDER_RUNSC
		[ -x "$WARDER_RUNSC" ] || [ "${WARDER_RUNSC##*old/}" = "$WARDER_RUNSC" ] ||
			"$TOP/packaging/runsc.sh" old >/dev/null 2>&1
		[ -x "$WARDER_RUNSC" ] && warder run -b runsc -- true >/dev/null 2>&1 && return
	done
	return 1
}

say "A network with rules: what is allowed is reached, what is not is refused at once, by name"
if demo_net_up; then
	cat >"$DIR/agent.json" <<-'JSON'
		{"version": 1, "network": {"mode": "egress", "rules": [
		  {"action": "deny", "to": "203.0.113.2", "ports": ["9000"], "name": "not-the-database"},
		  {"action": "allow", "to": "203.0.113.0/24", "proto": "tcp", "name": "our-servers"}]}}
	JSON
	backends=native
	demo_find_runsc && backends="native runsc"
	for backend in $backends; do
		show 0 warder run -b "$backend" -p "$DIR/agent.json" --syscalls --result "$DIR/r.json" \
			-v "$TOP/tests/demo:/job" -- python3 /job/visit.py 203.0.113.2:8000 203.0.113.2:9000
		python3 "$TOP/tests/demo/explain.py" "$DIR/r.json"
	done
	show 0 warder policy explain "$DIR/agent.json" 203.0.113.2:8000 203.0.113.2:9000 10.0.0.1:80
else
	echo "no network namespace with a veth can be made here"
	bad=1
fi
demo_net_down

say "The kernel keeps the CPU budget, even while the supervisor is stopped"
warder run --cpus 1 --cpu-time 500ms -- sh -c 'echo spinning; while :; do :; done' &
demo_pid=$!
sleep 0.2
kill -STOP $demo_pid
echo "\$ kill -STOP $demo_pid    # warder itself"
tries=0
while pgrep -r S,R,D,T -P $demo_pid >/dev/null && [ $tries -lt 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
printf 'processes of the job that are left: '
pgrep -c -r S,R,D,T -P $demo_pid
kill -CONT $demo_pid
wait $demo_pid
