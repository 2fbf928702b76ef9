#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pod as Kubernetes makes one through warder-runsc: a sandbox that has the policy, and containers that
# join it. All of them are held to it, until the sandbox is deleted, and nothing of it is left then.
# timeout: 240
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck disable=SC2016 # what the guest's own shell expands
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need ip nft jq busybox tc
AGE=${1:-new}
RUNSC=$WDR_RUNSC
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
undo() {
	for c in c1 c2 p1; do WARDER_RUNSC=$RUNSC warder-runsc --root "$TMPDIR/root" delete --force "$c"; done
	engine_lab_down
}
begin undo
engine_lab_up
engine_runsc "$AGE"
settings
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy open '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2"}]}'
policy cpu '"limits": {"cpu": "3s"}'
engine_net_up

mkdir -p "$TMPDIR/root"
for c in p1 c1 c2; do
	mkdir -p "$TMPDIR/b.$c/rootfs/bin" "$TMPDIR/b.$c/rootfs/proc"
	for n in sh busybox; do cp /bin/busybox "$TMPDIR/b.$c/rootfs/bin/$n"; done
done
# bundle ID KIND POLICY COMMAND: in the words of containerd's CRI plugin, or of CRI-O.
bundle() {
	jq -n --arg k "$2" --arg p "$3" --arg c "$4" --arg w "${WORDS:-cri}" \
		'{ociVersion: "1.0.2", root: {path: "rootfs"},
		process: {user: {uid: 0, gid: 0}, cwd: "/", args: ["/bin/sh", "-c", $c], env: ["PATH=/bin"]},
		annotations: ((if $w == "cri" then {"io.kubernetes.cri.container-type": $k, "io.kubernetes.cri.sandbox-id": "p1"}
			else {"io.kubernetes.cri-o.ContainerType": $k, "io.kubernetes.cri-o.SandboxID": "p1"} end)
			+ (if $p == "" then {} else {"dev.warder.policy": $p} end)),
		mounts: [{destination: "/proc", type: "proc", source: "proc"}],
		linux: {namespaces: [{type: "pid"}, {type: "mount"}, {type: "ipc"}, {type: "network", path: "/run/netns/box"}]}}' \
		>"$TMPDIR/b.$1/config.json"
}
engine() { WARDER_RUNSC=$RUNSC run timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox "$@"; }
# start ID: with its output to a file, as containerd gives it a fifo.
start() { WARDER_RUNSC=$RUNSC timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox start "$1" >"$TMPDIR/out.$1" 2>"$TMPDIR/err.$1"; }
# make ID KIND POLICY COMMAND: created and started.
make() {
	bundle "$@"
	WARDER_RUNSC=$RUNSC run timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox create \
		--bundle "$TMPDIR/b.$1" --pid-file "$TMPDIR/pid.$1" "$1" >/dev/null
	[ "$RC" -ne 0 ] || start "$1"
}
state() { WARDER_RUNSC=$RUNSC warder-runsc --root "$TMPDIR/root" state "$1" | jq -r .status; }
asks() { # ID: in it, by exec
	engine exec "$1" /bin/sh -c "$ASK"
	echo "$OUT" | tr '\n' ' '
}
gone() { # ID, as a shim ends it
	engine kill "$1" KILL
	wait_for 10 sh -c "[ \"\$(WARDER_RUNSC=$RUNSC warder-runsc --root $TMPDIR/root state $1 | jq -r .status)\" = stopped ]"
	engine delete "$1"
}
# shellcheck disable=SC2016 # what the guest's own shell expands
ASK='for p in 8000 9000; do o=$(busybox timeout 2 busybox nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'
PAUSE='exec busybox sleep 1000'
BOTH="203.0.113.1 203.0.113.1 "
HELD="203.0.113.1 refused "
filters() { tc filter show dev boxh ingress | grep -c handle; }
all_gone() {
	find "$TMPDIR/root" -type f ! -name '*.lock' ! -name null-netns # September 2026's keeps one for all sandboxes without a network
	pgrep -f "$TMPDIR/root"
	filters | grep -v '^0$'
	remains
}

make p1 sandbox "" "$PAUSE"
make c1 container "" "$PAUSE"
is "a pod without a policy: its container reaches both servers" "$(asks c1)" "$BOTH"
bundle c2 container lab true
engine create --bundle "$TMPDIR/b.c2" c2
like "a container can't bring one" "$RC/$ERR" '^128/warder: container c2: policy "lab" can.t hold in a pod that was made without one'
settings '"default": "lab"'
bundle c2 container "" true
engine create --bundle "$TMPDIR/b.c2" c2
like "nor has a default a hold there" "$RC/$ERR" '^128/warder: container c2: policy "lab" can.t hold in a pod'
settings
for c in c1 p1; do gone "$c"; done
is "it goes" "$RC/$(all_gone)" 0/

for WORDS in cri cri-o; do
	again
	make p1 sandbox lab "$PAUSE"
	is "$WORDS: a pod with one" "$RC/$(state p1)" 0/running
	make c1 container "" "$ASK; $PAUSE"
	is "$WORDS: a container joins it" "$RC/$(state c1)" 0/running
	make c2 container lab "$PAUSE"
	is "$WORDS: a second, which says that it has it" "$RC/$(state c2)" 0/running
	is "$WORDS: one sandbox holds them all, and no process of ours" \
		"$(cat "$TMPDIR/pid.p1")/$(pgrep -c -f warder-runsc)" "$(cat "$TMPDIR/pid.c2")/0"
	wait_for 20 grep -q refused "$TMPDIR/out.c1"
	is "$WORDS: the first is held to it from its first instruction" "$(tr '\n' ' ' <"$TMPDIR/out.c1")" "$HELD"
	is "$WORDS: so are programs in each" "$(asks p1)/$(asks c1)/$(asks c2)" "$HELD/$HELD/$HELD"
	gone c1
	is "$WORDS: one container goes" "$RC/$(state c2)" 0/running
	is "$WORDS: the other is held as before" "$(asks c2)/$(filters)" "$HELD/1"
	make c1 container "" "$PAUSE"
	is "$WORDS: it comes back, as after a crash, and is held" "$RC/$(asks c1)" "0/$HELD"
	for c in c1 c2; do gone "$c"; done
	is "$WORDS: the pod is there with no container in it" "$(state p1)/$([ -n "$(remains)" ] && echo held)/$(filters)" running/held/1
	gone p1
	is "$WORDS: the pod goes, and nothing is left" "$RC/$(all_gone)" 0/
	is "$WORDS: it has one line, of all that was in it" "$(reported '[.container, .policy, .end, .verdict, .denials[0].to, .denials[0].count >= 6, .usage.cpu_ns > 0]')" \
		'["p1","lab","deleted",null,"203.0.113.2:9000/tcp",true,true]'
done
is "a line for each pod that had a policy" "$(jq -r .container "$REPORT" | tr '\n' ' ')" "p1 p1 "
WORDS=cri

again
make p1 sandbox lab "$PAUSE"
bundle c1 container open true
engine create --bundle "$TMPDIR/b.c1" c1
like "a policy that is not the pod's is refused by name" "$RC/$ERR" \
	'^128/warder: container c1: policy "open" can.t hold in a pod that has "lab": all of a pod has one$'
engine state c1
is "and leaves nothing of it" "$([ "$RC" -ne 0 ] && echo none)" none
make c1 container lab "$PAUSE"
is "the pod takes others as before" "$RC/$(asks c1)" "0/$HELD"
# A sandbox that goes first takes all with it: what is left to delete is runsc's files.
engine delete --force p1
is "the sandbox deleted before its container" "$RC/$(remains)$(filters)" "0/0"
engine delete --force c1
is "the container after it" "$RC/$(all_gone)" 0/

again
bundle p1 sandbox lab "$PAUSE"
engine create --bundle "$TMPDIR/b.p1" p1 >/dev/null
note=$(find /run/warder/shim -name '*.json')
jq '.done = false' "$note" >"$TMPDIR/note" && cp "$TMPDIR/note" "$note"
bundle c1 container "" true
engine create --bundle "$TMPDIR/b.c1" c1
like "nothing joins a sandbox that was not made to the end" "$RC/$ERR" '^128/.*the creation of its pod was interrupted'
engine delete --force p1
is "that goes as well" "$RC/$(all_gone)" 0/

# What is no pod, but shares a network namespace: it has one policy, whoever comes last.
again
make p1 sandbox lab "$PAUSE"
bundle c1 sandbox open true
engine create --bundle "$TMPDIR/b.c1" c1
like "another sandbox does not open the network of the first" "$RC/$ERR" \
	'^128/.*interface [0-9]* is held to the policy of another container'
is "that is held as before" "$(asks p1)" "$HELD"
gone p1
is "and goes" "$RC/$(all_gone)" 0/
again
make c1 sandbox "" "$PAUSE"
is "the network is open to what comes after it without a policy" "$(asks c1)" "$BOTH"
gone c1

again
make p1 sandbox cpu "$PAUSE"
make c1 container "" "$PAUSE"
make c2 container "" 'busybox timeout 15 /bin/sh -c "while :; do :; done"; echo survived'
ok "a container that burns the pod's CPU budget ends the pod" wait_for 20 sh -c "! kill -0 $(cat "$TMPDIR/pid.p1")"
is "before it could say more" "$(cat "$TMPDIR/out.c2")" ""
is "each is seen to have ended" "$(state p1) $(state c1) $(state c2)" "stopped stopped stopped"
for c in c1 c2 p1; do engine delete "$c"; done
is "nothing is left" "$RC/$(all_gone)" 0/
is "the report says why" "$(reported '[.container, .end, .verdict.reason]')" '["p1","deleted","cpu-budget"]'
end
