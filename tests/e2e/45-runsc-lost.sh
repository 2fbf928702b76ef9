#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Containers whose end nobody vouches for: their interface stays closed as long as anybody is in its
# network namespace, and what else is there now is not touched for them.
# timeout: 240
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need ip tc nft jq busybox
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
policy lab '"network": {"mode": "egress"}'
engine_net_up
B=$TMPDIR/bundle
mkdir -p "$B/rootfs/bin" "$B/rootfs/proc" "$TMPDIR/root"
cp /bin/busybox "$B/rootfs/bin/sh"
jq -n '{ociVersion: "1.0.2", root: {path: "rootfs"}, annotations: {"dev.warder.policy": "lab"},
	process: {user: {uid: 0, gid: 0}, cwd: "/", args: ["/bin/sh", "-c", "sleep 100"], env: ["PATH=/bin"]},
	mounts: [{destination: "/proc", type: "proc", source: "proc"}],
	linux: {namespaces: [{type: "pid"}, {type: "mount"}, {type: "network", path: "/run/netns/box"}]}}' >"$B/config.json"
engine() { WARDER_RUNSC=$RUNSC run timeout 60 warder-runsc --root "$TMPDIR/root" --network=sandbox "$@"; }
create() {
	again
	engine create --bundle "$B" --pid-file "$TMPDIR/pid" c1 >/dev/null
}
filters() {
	{
		tc filter show dev boxh ingress
		tc filter show dev boxh egress
	} | grep -c wdr_tc
}
note_of() { find /run/warder/shim -name '*.json'; }
# instead COMMAND SCRIPT: a runsc that does this for that command.
instead() {
	cat >"$TMPDIR/runsc" <<-EOT
		#!/bin/sh
		case " \$* " in *" $1 "*) $2 ;; esac
		exec $WDR_RUNSC "\$@"
	EOT
	chmod +x "$TMPDIR/runsc"
	RUNSC=$TMPDIR/runsc
}

create
is "a container has its filters" "$RC/$(filters)" 0/2
create
is "the same id again is refused, and the first one held as before" "$(echo "$ERR" | grep -c "there is one of this id")/$(filters)/$(remains | grep -q /warder/c- && echo held)/$(jq .done "$(note_of)")" 1/2/held/true
kill -0 "$(cat "$TMPDIR/pid")"
is "and alive" $? 0
engine delete --force c1
is "when runsc has deleted it they are gone" "$RC/$(filters)$(remains)" 0/0
create
is "and the next one in this network namespace is made" "$RC/$(filters)" 0/2

# What runsc does not know it deletes with success. The sleep is whoever lived on.
rm "$TMPDIR"/root/c1_*.state
nsenter --net=/run/netns/box sleep 200 &
LIVES=$!
engine delete --force c1
is "deleted when its state is lost, its interface stays closed" "$RC/$(filters)$(remains)" 0/2
kill -KILL "$(cat "$TMPDIR/pid")" 2>/dev/null
create
like "and is nobody else's while somebody is there" "$RC/$ERR" '^[1-9].*interface [0-9]+ is closed: a container that had it may live on'
is "nothing is left of that one, and it is still closed" "$(filters)$(remains)" 2
kill "$LIVES"
wait "$LIVES" 2>/dev/null
rm -f "$B"/rootfs/.gvisor.filestore.* # runsc's, of what it does not know
create
is "when nobody is, the next one gets it" "$RC/$(filters)" 0/2
engine delete --force c1
is "and gives it back" "$RC/$(filters)$(remains)" 0/0

# shellcheck disable=SC2016 # the script's own
instead run 'kill -SEGV $$'
engine run --bundle "$B" c1
is "a runsc that crashes vouches for nothing" "$RC/$(filters)" 139/2
RUNSC=$WDR_RUNSC
create
engine delete --force c1
is "what it left is the next one's" "$RC/$(filters)$(remains)" 0/0

create
instead delete "sed -i 's/\"made_ns\":[0-9]*/\"made_ns\":1/' $(note_of); exit 0"
engine delete --force c1
is "one made anew while its predecessor is deleted stays as it is" "$RC/$(filters)/$(remains | grep -q /warder/c- && echo held)/$(jq .told "$(note_of)")" 0/2/held/false
RUNSC=$WDR_RUNSC
mount --bind /run/warder/shim /run/warder/shim
mount -o remount,bind,ro /run/warder/shim
engine delete --force c1
umount /run/warder/shim
is "what can't be noted is told as if it had been before" "$(reported .again)" true
engine delete --force c1
is "and it goes all the same" "$RC$(remains)" 0

create
mv /run/warder/kern.lock "$TMPDIR/kern.lock"
ln -s none /run/warder/kern.lock
engine delete --force c1
mv "$TMPDIR/kern.lock" /run/warder/kern.lock
like "an interface that can't be let go is told of" "$ERR" 'step=release err='
create
engine delete --force c1
is "and nothing is left with the next one" "$RC/$(filters)$(remains)" 0/0
end
