#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The way of Kubernetes: containerd's CRI plugin, asked as kubelet asks it, makes a pod's sandbox by a
# runtime handler whose program is warder-runsc, with a network that CNI brings. What is in the sandbox
# is what all containers of the pod share. These, and the pod's end, need gVisor's own shim, which wants
# a right to lower OOM scores that not every machine gives; containerd's does not understand what any
# runsc answers about a sandbox that has ended. So it is ended by hand.
# timeout: 90
# shellcheck disable=SC2016 # what a container's own shell expands
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
need containerd ctr jq busybox nft
CRICTL=$TOP/build/engines/bin/crictl
[ -x "$CRICTL" ] || skip_all "needs $CRICTL (packaging/engines.sh cri)"
RUNSC=$TOP/build/runsc/new/runsc
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
CNI=/usr/lib/cni
[ -x $CNI/ptp ] || CNI=/opt/cni/bin
[ -x $CNI/ptp ] || skip_all "needs the CNI plugins ptp and host-local (containernetworking-plugins)"
E=$TMPDIR/e
CTRD=
undo() {
	[ -z "$CTRD" ] || t ls -q | while read -r id; do t delete -f "$id"; done
	[ -z "$CTRD" ] || kill "$CTRD"
	for m in $(sed -n "s,.* \($E/[^ ]*\) .*,\1,p" /proc/mounts | sort -r); do umount -l "$m"; done
	engine_lab_down
}
k() { timeout 60 "$CRICTL" -c "$E/crictl.yaml" -t 20s -r "unix://$E/c.sock" -i "unix://$E/c.sock" "$@"; }
t() { timeout 30 ctr -a "$E/c.sock" -n k8s.io task "$@"; }
begin undo
mkdir -p "$E/cni"
: >"$E/crictl.yaml"
engine_lab_up
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy burn '"limits": {"cpu": "2s"}'
policy count '"syscalls": {"count": true}'
settings "\"runsc\": \"$RUNSC\""

cat >"$E/cni/10.conflist" <<EOT
{"cniVersion": "0.4.0", "name": "lab", "plugins": [{"type": "ptp", "ipMasq": false,
 "ipam": {"type": "host-local", "subnet": "172.31.9.0/24", "dataDir": "$E/ipam", "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOT
sysctl -qw net.ipv4.ip_forward=1
nft 'table ip engine { chain post { type nat hook postrouting priority 100; ip saddr 172.31.0.0/16 oifname "up0" masquerade; }; }'
cat >"$E/c.toml" <<EOT
version = 2
root = "$E/root"
state = "$E/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "$E/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "warder.test/box:1"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$CNI"
conf_dir = "$E/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
default_runtime_name = "warder"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.warder]
runtime_type = "io.containerd.runc.v2"
pod_annotations = ["dev.warder.policy"]
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.warder.options]
BinaryName = "$WDR_BUILD/bin/warder-runsc"
EOT
containerd -c "$E/c.toml" >"$E/log" 2>&1 &
CTRD=$!
wait_for 10 ctr -a "$E/c.sock" version
ok "containerd has its CRI plugin" k version
[ "$RC" -eq 0 ] || end

# One image for the pause container and for all others.
image() {
	mkdir -p "$E/image/bin" && cp /bin/busybox "$E/image/bin/busybox" &&
		for p in sh sleep nc timeout echo; do ln -s busybox "$E/image/bin/$p"; done
	tar -C "$E/image" -cf "$E/layer.tar" . &&
		jq -n --arg d "sha256:$(sha256sum <"$E/layer.tar" | cut -d ' ' -f 1)" \
			'{architecture: "amd64", os: "linux", config: {Cmd: ["/bin/sleep", "1000000"], Env: ["PATH=/bin"]},
			 rootfs: {type: "layers", diff_ids: [$d]}}' >"$E/config.json" &&
		echo '[{"Config": "config.json", "RepoTags": ["warder.test/box:1"], "Layers": ["layer.tar"]}]' >"$E/manifest.json" &&
		tar -C "$E" -cf "$E/image.tar" manifest.json config.json layer.tar &&
		ctr -a "$E/c.sock" -n k8s.io image import --snapshotter native "$E/image.tar"
}
ok "an image of our own" image

# pod NAME POLICY: its sandbox; into POD.
pod() {
	jq -n --arg n "$1" --arg p "$2" '{metadata: {name: $n, namespace: "default", uid: $n, attempt: 1}, log_directory: "/tmp", linux: {},
		annotations: (if $p == "" then {} else {"dev.warder.policy": $p} end)}' >"$E/pod.json"
	run k runp --runtime warder "$E/pod.json"
	POD=$OUT
}
# in_pod COMMAND: in its sandbox.
in_pod() { run t exec --exec-id "e$((n = n + 1))" "$POD" /bin/sh -c "$1"; }
n=0
status() { [ "$RC" -eq 0 ] && echo 0 || echo "$RC: $ERR"; }
stopped() { t ls | grep -q "$POD.*STOPPED"; }
over() { k inspectp "$POD" | jq -e '.status.state == "SANDBOX_NOTREADY"'; }
gone() {
	t kill -s KILL "$POD"
	wait_for 10 stopped && t delete "$POD" && wait_for 10 over && k rmp "$POD"
}
ASK='for p in 8000 9000; do o=$(timeout 2 nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'
for policy in "" lab; do
	pod "p$policy" "$policy"
	is "pod ${policy:-without}: its sandbox is there" "$(status)" 0
	[ "$RC" -eq 0 ] || end
	in_pod "$ASK"
	case $policy in
	"") is "pod without: it reaches both servers" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 203.0.113.1 " ;;
	*) is "pod lab: what its policy allows and no more" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 refused " ;;
	esac
	ok "pod ${policy:-without}: it goes" gone
	is "pod ${policy:-without}: nothing is left" "$(remains)" ""
done
is "the report says what was refused" "$(reported '[.policy, .end, .denials[0].to]')" '["lab","deleted","203.0.113.2:9000/tcp"]'
pod burn burn
is "a pod with a CPU budget starts" "$(status)" 0
in_pod "timeout 10 sh -c 'while :; do :; done'; echo survived"
is "and does not get past it" "$OUT" ""
ok "containerd sees its end" wait_for 5 stopped
ok "and it goes" gone
is "the report says why" "$(reported '[.policy, .verdict.reason]')$(remains)" '["burn","cpu-budget"]'
pod count count
like "a policy that can't be enforced makes no pod, and kubelet hears why" "$ERR" 'syscalls.count needs a supervisor'
is "nothing is left of that" "$(remains)" ""
end
