#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A container that an engine makes through warder-runsc is held to its policy's network rules for as
# long as it lives, with no process of Warder's beside it, and leaves nothing when it is deleted.
# timeout: 240
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck disable=SC2016 # what the guest's own shell expands
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need ip nft jq busybox
AGE=${1:-new}
RUNSC=$WDR_RUNSC
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
undo() {
	"$RUNSC" --root "$TMPDIR/root" delete --force c1
	engine_lab_down
}
begin undo
engine_lab_up
engine_runsc "$AGE"
settings '"policies": ["lab", "cpu", "share", "fatal", "count"]'
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy cpu '"limits": {"cpu": "2s"}'
policy share '"detect": {"cpu": {"action": "kill", "above": 0.1, "for": "2s"}}'
policy fatal '"network": {"mode": "egress", "on_deny": "kill"}'
policy count '"syscalls": {"count": true}'

engine_net_up
B=$TMPDIR/bundle
mkdir -p "$B/rootfs/bin" "$B/rootfs/proc" "$TMPDIR/root"
cp /bin/busybox "$B/rootfs/bin/sh"
cp /bin/busybox "$B/rootfs/bin/busybox"
bundle() { # POLICY COMMAND
	jq -n --arg p "$1" --arg c "$2" '{ociVersion: "1.0.2", root: {path: "rootfs"},
		process: {user: {uid: 0, gid: 0}, cwd: "/", args: ["/bin/sh", "-c", $c], env: ["PATH=/bin"]},
		annotations: (if $p == "" then {} else {"dev.warder.policy": $p} end),
		mounts: [{destination: "/proc", type: "proc", source: "proc"}],
		linux: {namespaces: [{type: "pid"}, {type: "mount"}, {type: "network", path: "/run/netns/box"}]}}' >"$B/config.json"
}
engine() { WARDER_RUNSC=$RUNSC run timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox "$@"; }
# shellcheck disable=SC2016 # what the guest's own shell expands
ASK='for p in 8000 9000; do o=$(busybox timeout 2 busybox nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'

bundle "" "$ASK"
engine run --bundle "$B" c1
is "without a policy both servers are reached" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 203.0.113.1 "
again
bundle lab "$ASK"
engine run --bundle "$B" c1
is "with one, what it allows and no more" "$(echo "$OUT" | tr '\n' ' ')/$RC" "203.0.113.1 refused /0"
is "and nothing is left of it" "$(remains)" ""

again
bundle lab "while :; do $ASK; busybox sleep 1; done"
engine create --bundle "$B" --pid-file "$TMPDIR/pid" c1 >/dev/null
is "created, then started, as engines do" "$RC" 0
WARDER_RUNSC=$RUNSC timeout 60 warder-runsc --root "$TMPDIR/root" start c1
engine exec c1 /bin/sh -c "$ASK"
is "no process of ours is there, and the rules hold" "$(pgrep -c -f 'warder-runsc')/$(echo "$OUT" | tr '\n' ' ')" "0/203.0.113.1 refused "
warder run -- true
engine exec c1 /bin/sh -c "$ASK"
is "a sweep leaves it alone" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 refused "
engine kill c1 KILL
wait_for 10 sh -c "! kill -0 $(cat "$TMPDIR/pid")"
engine delete --force c1
is "deleted" "$RC/$(remains)" "0/"

is "the report has said how it was" "$(reported '[.container, .policy, .end, .verdict, .usage.egress.denied > 0, .usage.cpu_ns > 0, .denials[0].to, .denials[0].reason]')" \
	'["c1","lab","deleted",null,true,true,"203.0.113.2:9000/tcp","default"]'
is "a line for each that had a policy" "$(jq -r '.end' "$REPORT" | tr '\n' ' ')" "ended deleted "

# A busy loop that ends itself, so that without the limit the test says so and goes on.
BURN='busybox timeout 10 /bin/sh -c "while :; do :; done"; echo survived'
for policy in lab cpu share; do
	again
	bundle $policy "$BURN"
	engine run --bundle "$B" c1
	case $policy in
	lab) is "run: without a limit, it burns its time" "$OUT/$RC" survived/0 ;;
	*) is "run: $policy: it is killed, and the engine sees it" "$OUT/$RC" /137 ;;
	esac
	is "run: $policy: nothing is left" "$(remains)$("$RUNSC" --root "$TMPDIR/root" list -quiet)" ""
	[ $policy != cpu ] || is "run: cpu: with the number" "$(reported '[.verdict.reason, (.verdict.explanation | startswith("CPU budget of 2s reached: 2")), (.usage.cpu_ns / 1e9 | . >= 2 and . < 3)]')" \
		'["cpu-budget",true,true]'
	[ $policy != share ] || is "run: share: with the evidence" "$(reported '[.verdict.reason, .findings[0].action, .findings[0].score > 0.1]')" '["cpu-budget","kill",true]'
done

# Where creation and start are two, nothing of ours is there while it runs.
for policy in cpu share; do
	again
	bundle $policy "busybox sleep 0.5; $BURN"
	engine create --bundle "$B" --pid-file "$TMPDIR/pid" c1 >/dev/null
	WARDER_RUNSC=$RUNSC timeout 60 warder-runsc --root "$TMPDIR/root" start c1
	is "start: $policy: no process of ours is there" "$(pgrep -c -f 'warder-runsc')" 0
	ok "start: $policy: it is killed" wait_for 20 sh -c "! kill -0 $(cat "$TMPDIR/pid")"
	engine state c1
	is "start: $policy: and stopped" "$(echo "$OUT" | jq -r .status)" stopped
	engine delete c1
	is "start: $policy: nothing is left" "$RC/$(remains)" 0/
	is "start: $policy: the report says why" "$(reported '[.end, .verdict.reason]')" '["deleted","cpu-budget"]'
done
again
bundle fatal "$ASK; echo survived"
engine run --bundle "$B" c1
is "a denied connection is the end, where the policy says so" "$OUT/$RC/$(reported '[.verdict.reason, .denials[0].to]')" '/137/["egress","203.0.113.2:8000/tcp"]'

again
bundle lab "$ASK"
engine create --bundle "$B" c1 >/dev/null
note_of() { find /run/warder/shim -name '*.json'; }
jq '.done = false' "$(note_of)" >"$TMPDIR/note" && cp "$TMPDIR/note" "$(note_of)"
WARDER_RUNSC=$RUNSC run warder-runsc --root "$TMPDIR/root" start c1
like "what was not made to the end is not started" "$RC/$ERR" '^[1-9].*its creation was interrupted'
sed 's/8000/8001/; s/"to"/"name": "new", "to"/' /etc/warder/policies/lab.json >"$TMPDIR/lab" && cp /etc/warder/policies/lab.json "$TMPDIR/lab.was"
cp "$TMPDIR/lab" /etc/warder/policies/lab.json
engine delete --force c1
cp "$TMPDIR/lab.was" /etc/warder/policies/lab.json
is "nor explained by rules that it did not have" "$(reported '[.policy_changed, .denials]')$(remains)" '[true,[]]'
jq '.report = "/no/report"' /etc/warder/runsc.json >"$TMPDIR/settings" && cp /etc/warder/runsc.json "$TMPDIR/settings.was"
cp "$TMPDIR/settings" /etc/warder/runsc.json
engine run --bundle "$B" c1
cp "$TMPDIR/settings.was" /etc/warder/runsc.json
like "no report, no container" "$RC/$ERR/$(remains)" '^[1-9].*report /no/report: No such file or directory/$'

again
bundle count true
engine run --bundle "$B" c1
like "what needs a supervisor is refused, to the engine" "$RC/$ERR" '^[1-9].*syscalls.count needs a supervisor.*not those of its guest'
bundle lab true
ip -n box link add mv0 link eth0 type macvlan
ip -n box link set mv0 up
engine create --bundle "$B" c1 >/dev/null
is "an interface on the veth itself is no other way out" "$RC" 0
engine delete --force c1
again
ip -n box link del mv0
ip link add mv0 link boxh netns box type macvlan
ip -n box link set mv0 up
engine create --bundle "$B" c1 >/dev/null
like "one on the host's is, and can't be judged" "$RC/$ERR" '^[1-9].*interface mv0 \(macvlan\): only what goes through a veth'
ip -n box link del mv0
ip netns add third
ip -n box link add v3 type veth peer name v3 netns third
engine create --bundle "$B" c1 >/dev/null
like "nor can a veth that ends elsewhere" "$RC/$ERR" '^[1-9].*is in a third network namespace'
ip -n box link del v3
ip netns del third
is "nothing is left of these" "$(remains)" ""
# A namespace that runsc makes: a hook or the engine puts the network there once the sandbox is.
cat >"$TMPDIR/plug" <<'EOT'
#!/bin/sh
PATH=$PATH:/usr/sbin:/sbin
pid=${1:-$(jq .pid)}
ip link add latehost type veth peer name eth0 netns "$pid"
ip addr add 172.31.8.1/24 dev latehost
ip link set latehost up
nsenter -t "$pid" -n sh -c 'ip addr add 172.31.8.2/24 dev eth0; ip link set eth0 up; ip route add default via 172.31.8.1'
EOT
chmod +x "$TMPDIR/plug"
late() { # HOOK
	jq --arg h "$1" '.linux.namespaces[2] = {type: "network"} | if $h == "" then . else .hooks.createRuntime = [{path: $h}] end' \
		"$B/config.json" >"$B/late" && mv "$B/late" "$B/config.json"
}
lives() { # WHAT
	WARDER_RUNSC=$RUNSC run timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox start c1
	is "$1: started" "$RC$ERR" 0
	engine exec c1 /bin/sh -c "$ASK"
	is "$1: the rules hold" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 refused "
	engine delete --force c1
	is "$1: deleted" "$RC/$(remains)" "0/"
}
bundle lab "busybox sleep 100"
late "$TMPDIR/plug"
engine create --bundle "$B" c1 >/dev/null
is "a hook gives the network: created" "$RC" 0
lives "a hook gives the network"
engine run --bundle "$B" c1
like "a hook at once before the program is refused" "$RC/$ERR" '^[1-9].*its hooks may give a network'
late /bin/true
engine create --bundle "$B" c1 >/dev/null
like "and hooks that have done nothing yet" "$RC/$ERR" '^[1-9].*its hooks have made no network'
is "nothing is left of those" "$(remains)" ""
bundle lab "busybox sleep 100"
late ""
engine create --bundle "$B" --pid-file "$TMPDIR/pid" c1 >/dev/null
is "the engine gives the network: created" "$RC" 0
"$TMPDIR/plug" "$(cat "$TMPDIR/pid")"
lives "the engine gives the network"
bundle other true
engine run --bundle "$B" c1
is "so is a policy that the settings do not name" "$([ "$RC" -ne 0 ] && echo refused)" refused
is "and nothing is left" "$(remains)" ""
end
