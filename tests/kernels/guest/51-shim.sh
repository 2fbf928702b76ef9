#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A gVisor container that an engine makes through warder-runsc is held to its policy on this kernel: on a wire of its own, and in the
# host's network, where that can be done.
# timeout: 150
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../lib/tap.sh"
RUNSC=$WDR_BUILD/../runsc/new/runsc
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
undo() {
	"$RUNSC" --root /run/runsc delete --force c1
}
lab_up
begin undo
mkdir -p /etc/warder/policies
echo '{"version": 1, "network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}}' \
	>/etc/warder/policies/lab.json
echo '{"version": 1, "network": {"mode": "host", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}}' \
	>/etc/warder/policies/host.json
serve out 8000 close
serve out 9000 close

# What an engine does: a network namespace with a veth, and a way back.
ip netns add box
ip link add boxh type veth peer name eth0 netns box
ip addr add 172.31.9.1/24 dev boxh
ip link set boxh up
ip -n box link set lo up
ip -n box link set eth0 up
echo 1 >/proc/sys/net/ipv4/ip_forward
ip -n out route add 172.31.0.0/16 via 203.0.113.1

B=/run/bundle
mkdir -p $B/rootfs/bin $B/rootfs/proc
cp /bin/busybox $B/rootfs/bin/sh
cp /bin/busybox $B/rootfs/bin/busybox
# shellcheck disable=SC2016 # what the guest's own shell expands
ASK='for p in 8000 9000; do o=$(busybox timeout 60 busybox nc 203.0.113.2 $p </dev/null 2>/dev/null); echo ${o:-refused}; done'
# container POLICY NAMESPACES FLAG: what it reaches into OUT.
container() {
	ip -n box addr replace 172.31.9.2/24 dev eth0
	ip -n box route replace default via 172.31.9.1
	jq -n --arg p "$1" --arg c "$ASK" --argjson n "$2" '{ociVersion: "1.0.2", root: {path: "rootfs"},
		process: {user: {uid: 0, gid: 0}, cwd: "/", args: ["/bin/sh", "-c", $c], env: ["PATH=/bin"]},
		annotations: (if $p == "" then {} else {"dev.warder.policy": $p} end),
		mounts: [{destination: "/proc", type: "proc", source: "proc"}],
		linux: {namespaces: ([{type: "pid"}, {type: "mount"}] + $n)}}' >$B/config.json
	WARDER_RUNSC=$RUNSC run timeout 200 warder-runsc --root /run/runsc --platform=ptrace "$3" run --bundle $B c1
	OUT=$(printf '%s\n' "$OUT" | tr '\n' ' ')
}
BOX='[{"type": "network", "path": "/run/netns/box"}]'

container "" "$BOX" --network=sandbox
is "without a policy both servers are reached" "$RC/$OUT" "0/172.31.9.2 172.31.9.2 "
[ "$RC" -eq 0 ] || note "$ERR"
container lab "$BOX" --network=sandbox
is "with one, what it allows and no more" "$RC/$OUT" "0/172.31.9.2 refused "
[ "$RC" -eq 0 ] || note "$ERR"
container "" '[]' --network=host
is "in the host's network as well" "$RC/$OUT" "0/203.0.113.1 203.0.113.1 "
container host '[]' --network=host
case "$RC/$OUT/$ERR" in
0/*) is "a policy holds there, too" "$OUT" "203.0.113.1 refused " ;;
*) like "or it says why it can't, and starts nothing" "$OUT/$ERR" '^ /.*(cgroup|host)' ;;
esac
is "nothing is left" "$(find /sys/fs/cgroup -type d -name 'c-c1-*'; ls /run/warder/shim 2>/dev/null)" ""
end
