#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bring what starts warder-runsc in tests and is no package to install: all of it below build/engines,
# nothing of the machine is touched. Quick and silent when it is there.
#
# usage: packaging/engines.sh [python] [cri] [docker] [ray]     (default: all)
#
#   python   gVisor's package of that name                pip       60 KB
#   cri      crictl, which asks containerd as kubelet does  go       40 MB
#   docker   Debian's dockerd, taken apart                 apt-get  100 MB
#   ray      Ray, of which only the sandboxes are wanted    pip      270 MB
# Exit status: 0 all asked for are there, 77 one can't be had here (said on stderr), 1 it broke.
set -eu

GVISOR=2026.10.22.0
RAY=2.60.0
CRICTL=v1.34.0
CRICTL_GO=1.24 # the `go` line of that module's go.mod
TOP=$(cd "$(dirname "$0")/.." && pwd)
DIR=${WDR_ENGINES_DIR:-$TOP/build/engines}

say() {
	echo "packaging/engines.sh: $*" >&2
}

# bring_pip FOLDER PACKAGE VERSION
bring_pip() {
	[ -d "$DIR/$1/$2-$3.dist-info" ] && return 0
	if ! python3 -m pip --version >/dev/null 2>&1; then
		say "$2 needs pip (python3-pip)"
		return 77
	fi
	rm -rf "${DIR:?}/$1" && mkdir -p "$DIR"
	if ! python3 -m pip install -q --no-compile --root-user-action ignore --target "$DIR/$1.new" "$2==$3"; then
		rm -rf "${DIR:?}/$1.new"
		say "$2 $3 is not to be had of pip"
		return 77
	fi
	mv "$DIR/$1.new" "$DIR/$1"
}

bring_python() { bring_pip python gvisor "$GVISOR"; }
bring_ray() { bring_pip ray ray "$RAY"; }

bring_cri() {
	"$DIR/bin/crictl" --version >/dev/null 2>&1 && return 0
	if ! go=$("$TOP/packaging/runsc.sh" go "$CRICTL_GO"); then
		say "crictl needs Go $CRICTL_GO or later"
		return 77
	fi
	mkdir -p "$DIR/bin"
	GOBIN=$DIR/bin CGO_ENABLED=0 "$go" install -ldflags "-s -w" "sigs.k8s.io/cri-tools/cmd/crictl@$CRICTL" &&
		"$DIR/bin/crictl" --version >/dev/null
}

bring_docker() {
	[ -x "$DIR/docker/usr/sbin/dockerd" ] && [ -x "$DIR/docker/usr/bin/docker" ] && return 0
	tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT || return 1
	# Where the client is a package of its own, it is wanted too.
	packages=docker.io
	! apt-cache show docker-cli >/dev/null 2>&1 || packages="docker.io docker-cli"
	# shellcheck disable=SC2086
	if ! (cd "$tmp" && apt-get download $packages >log 2>&1); then
		say "no package to be had of: $packages (try apt-get update): $(tail -n 1 "$tmp/log")"
		return 77
	fi
	rm -rf "$DIR/docker" && mkdir -p "$DIR"
	for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$tmp/root" || return 1; done
	mv "$tmp/root" "$DIR/docker" && [ -x "$DIR/docker/usr/sbin/dockerd" ]
}

[ $# -gt 0 ] || set -- python cri docker ray
rc=0
for engine; do
	r=0
	case $engine in
	python | cri | docker | ray) "bring_$engine" || r=$? ;;
	*) say "unknown '$engine': want python, cri, docker or ray" && r=1 ;;
	esac
	[ "$r" -eq 0 ] || [ "$r" -eq 77 ] || say "$engine: could not be brought"
	[ "$r" -eq 0 ] || [ "$rc" -eq 1 ] || rc=$r
done
exit "$rc"
