#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Engines run warder-runsc where they ran runsc: podman, and containerd with its own shim.
# timeout: 400
# shellcheck disable=SC2016 # what the container's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need podman containerd ctr jq unshare
[ -x "$TOP/build/runsc/new/runsc" ] || [ -x "$TOP/build/runsc/old/runsc" ] || skip_all "needs build/runsc (packaging/runsc.sh)"
[ -x /bin/busybox ] || skip_all "needs busybox-static"

# A mount namespace of our own: runsc on PATH and settings in /etc/warder, for this test alone.
if [ -z "${WDR_TEST_NS:-}" ]; then
	WDR_TEST_NS=1 exec unshare -m --propagation slave sh "$0"
fi
unset WARDER_RUNSC
E=$TMPDIR/engines
CTRD=
MADE=
undo() {
	[ -z "$CTRD" ] || kill "$CTRD"
	podman --root "$E/store" --runroot "$E/run" --storage-driver vfs rm -af -t 0
	for age in new latest old; do
		for id in t1 t2; do "$TOP/build/runsc/$age/runsc" --root "$E/runsc/$T" delete --force "$id"; done
	done
	umount /etc/warder
	[ -z "$MADE" ] || rmdir /etc/warder
	umount -R "$E"
	rm -rf "$E"
}
begin undo
mkdir -p "$E"
mount -t tmpfs none "$E" || skip_all "needs a tmpfs"
SHIM=$WDR_BUILD/bin/warder-runsc
mount -t tmpfs none /usr/local/sbin
[ -d /etc/warder ] || MADE=1
mkdir -p "$E/etc" /etc/warder
mount --bind "$E/etc" /etc/warder
mkdir -p "$E/etc/policies"
ROOT=$E/image
for d in bin proc tmp dev sys etc; do mkdir -p "$ROOT/$d"; done
cp /bin/busybox "$ROOT/bin/"
for p in sh sleep true cat echo id kill; do ln -s busybox "$ROOT/bin/$p"; done

# p ARG...: podman with the shim in place of runsc; nothing of the machine's own podman.
p() {
	# shellcheck disable=SC2086 # a flag and its value, or nothing
	podman --root "$E/store" --runroot "$E/run" --cgroup-manager cgroupfs --storage-driver vfs --events-backend none \
		--runtime "$SHIM" --runtime-flag network=none $PLATFORM "$@"
}
# start ARG...: podman run of the image's file system
start() { p run --cgroups=enabled --net=host "$@"; }

podman_story() {
	run start --rm --rootfs "$ROOT" sh -c 'echo out; echo err >&2; exit 3'
	is "$1: podman run has streams and status" "$OUT/$ERR/$RC" "out/err/3"
	is "$1: and input" "$(echo text | start -i --rm --rootfs "$ROOT" cat)" text
	ok "$1: podman run -d" start -d --name t1 --rootfs "$ROOT" sleep 100
	run p exec t1 sh -c 'echo in; exit 5'
	is "$1: podman exec" "$OUT/$RC" "in/5"
	run p ps --format '{{.Names}} {{.Status}}'
	like "$1: podman ps" "$OUT" '^t1 Up'
	ok "$1: podman pause" p pause t1
	ok "$1: podman unpause" p unpause t1
	ok "$1: podman kill" p kill -s KILL t1
	run p wait t1
	is "$1: podman wait" "$OUT" 137
	ok "$1: podman rm" p rm t1
	start -d --name t2 --rootfs "$ROOT" sleep 100 >/dev/null
	ok "$1: podman stop" p stop -t 1 t2
	ok "$1: podman rm -f" p rm -f t2
	run start --rm --rootfs "$ROOT" no-such-program
	like "$1: a program that is not there is told in runsc's words" "$ERR" 'no-such-program.*no such file'
	run start --rm -t --rootfs "$ROOT" sh -c 'test -t 0 && echo tty'
	is "$1: a terminal comes through the console socket" "$(printf %s "$OUT" | tr -d '\r')" tty
}

policy_story() {
	printf '{"version": 1, "name": "closed", "syscalls": {"count": true}}' >"$E/etc/policies/closed.json"
	run start --rm --annotation dev.warder.policy=closed --rootfs "$ROOT" true
	like "$1: a policy that can't be enforced starts nothing" "$ERR/$RC" 'policy "closed": syscalls.count needs a supervisor.*/[1-9]'
	run start --rm --annotation dev.warder.policy=none-such --rootfs "$ROOT" true
	like "$1: one that is not there, too" "$ERR" 'no policy "none-such" in /etc/warder/policies'
	run start --rm --annotation dev.warder.policy=../../tmp/x --rootfs "$ROOT" true
	like "$1: nor can an annotation name a file" "$ERR" 'no name of a policy'
	printf '{"version": 1, "policies": ["other"]}' >"$E/etc/runsc.json"
	run start --rm --annotation dev.warder.policy=closed --rootfs "$ROOT" true
	like "$1: or what the machine does not offer" "$ERR" 'policy "closed" is not among'
	printf '{"version": 1, "default": "closed"}' >"$E/etc/runsc.json"
	run start --rm --rootfs "$ROOT" true
	like "$1: the default holds where nothing is said" "$ERR" 'policy "closed": syscalls.count needs a supervisor'
	printf '{"version": 1, "defualt": "closed"}' >"$E/etc/runsc.json"
	run start --rm --rootfs "$ROOT" true
	like "$1: bad settings start nothing" "$ERR" 'unknown key "defualt"'
	rm "$E/etc/runsc.json"
	is "$1: nothing is remembered of what was refused" "$(ls /run/warder/shim 2>/dev/null)" ""
}

# A busy loop that ends itself, so that the test goes on without the limit.
BURN='timeout 10 sh -c "while :; do :; done"; echo survived'
podman_cpu() {
	printf '{"version": 1, "name": "burn", "limits": {"cpu": "2s"}}' >"$E/etc/policies/burn.json"
	printf '{"version": 1, "report": "%s"}' "$E/report" >"$E/etc/runsc.json"
	: >"$E/report"
	run start --rm --rootfs "$ROOT" sh -c "$BURN"
	is "$1: without a policy it burns its time" "$OUT/$RC/$(cat "$E/report")" survived/0/
	run start --rm --annotation dev.warder.policy=burn --rootfs "$ROOT" sh -c "$BURN"
	is "$1: podman sees that the CPU budget is used up" "$OUT/$RC" /137
	is "$1: and the report says why" "$(reported)" 'cpu-budget CPU budget of 2s reached'
	is "$1: nothing is left" "$(remains)" ""
	rm "$E/etc/runsc.json"
}
reported() { tail -n 1 "$E/report" | jq -r '.verdict | .reason + " " + (.explanation | sub(":.*"; ""))'; }
remains() {
	ls /run/warder/shim
	find /sys/fs/cgroup -type d -path '*/warder/c-*'
	find /sys/fs/bpf/warder/jobs /run/warder/bpf/warder/jobs -name 'wdr_cpu_*' 2>/dev/null
}

# c ARG...: ctr on the containerd of this test
c() { ctr -a "$E/c.sock" -n "$T" "$@"; }
start_containerd() {
	cat >"$E/c.toml" <<-EOT
		version = 2
		root = "$E/c/root"
		state = "$E/c/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
		[grpc]
		address = "$E/c.sock"
	EOT
	containerd -c "$E/c.toml" >"$E/c.log" 2>&1 &
	CTRD=$!
	wait_for 10 c version
}
containerd_story() {
	set -- "$1" --runtime io.containerd.runc.v2 --runc-binary "$WRAP" --runc-root "$E/runsc" --env PATH=/bin
	AGE=$1
	shift
	run c run --rm "$@" --rootfs "$ROOT" t1 sh -c 'echo out; exit 3'
	is "$AGE: ctr run has output and status" "$OUT/$ERR/$RC" "out//3"
	ok "$AGE: ctr run -d" c run -d "$@" --rootfs "$ROOT" t1 sleep 100
	run c task exec --exec-id e1 t1 /bin/sh -c 'echo in; exit 5'
	is "$AGE: ctr task exec" "$OUT/$RC" "in/5"
	ok "$AGE: ctr task pause" c task pause t1
	ok "$AGE: ctr task resume" c task resume t1
	ok "$AGE: ctr task kill" c task kill -s KILL t1
	no_task() { c task ls | grep -q 't1.*STOPPED'; }
	ok "$AGE: it stops" wait_for 10 no_task
	ok "$AGE: ctr task delete" sh -c 'ctr -a "$1" -n "$2" task delete t1; ctr -a "$1" -n "$2" container delete t1' sh "$E/c.sock" "$T"
	printf '{"version": 1, "name": "closed", "syscalls": {"count": true}}' >"$E/etc/policies/closed.json"
	run c run --rm "$@" --annotation dev.warder.policy=closed --rootfs "$ROOT" t2 true
	like "$AGE: containerd hears why a policy starts nothing" "$ERR" 'policy "closed": syscalls.count needs a supervisor'
	c container delete t2 >/dev/null 2>&1
	printf '{"version": 1, "report": "%s"}' "$E/report" >"$E/etc/runsc.json"
	: >"$E/report"
	run c run --rm "$@" --annotation dev.warder.policy=burn --rootfs "$ROOT" t3 sh -c "$BURN"
	is "$AGE: containerd sees that the CPU budget is used up" "$OUT/$RC" /137
	is "$AGE: and the report says why" "$(reported)" 'cpu-budget CPU budget of 2s reached'
	is "$AGE: nothing is left" "$(remains)" ""
	rm "$E/etc/runsc.json"
}

for age in new latest old; do
	[ -x "$TOP/build/runsc/$age/runsc" ] || continue
	ln -sf "$TOP/build/runsc/$age/runsc" /usr/local/sbin/runsc
	PLATFORM=
	[ $age != old ] || PLATFORM="--runtime-flag platform=ptrace"
	podman_story $age
	policy_story $age
	podman_cpu $age
done
start_containerd
for age in new latest old; do
	[ -x "$TOP/build/runsc/$age/runsc" ] || continue
	ln -sf "$TOP/build/runsc/$age/runsc" /usr/local/sbin/runsc
	WRAP=$E/warder-runsc-$age
	printf '#!/bin/sh\nexec %s --network=none "$@"\n' "$SHIM" >"$WRAP"
	chmod +x "$WRAP"
	containerd_story $age
done
end
