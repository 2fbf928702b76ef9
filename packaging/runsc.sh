#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bring gVisor's runsc for the tests: build/runsc/old/runsc is the distribution's package,
# build/runsc/new/runsc is built from the pinned module. Quick and silent when both are there.
#
# usage: packaging/runsc.sh [old] [new]     (default: both)
# Exit status: 0 all asked for are there, 77 one can't be had here (said on stderr), 1 it broke.
set -eu

VERSION=v0.0.0-20260122175437-89a5d21be8f0
GO_NEED=1.25.5 # the `go` line of that module's go.mod
GO_SWITCH=1.21 # from here on a Go fetches a newer one itself, unless GOTOOLCHAIN=local
DIR=${WDR_RUNSC_DIR:-$(dirname "$0")/../build/runsc}

say() {
	echo "packaging/runsc.sh: $*" >&2
}

# A binary that starts and names itself; a half-written or foreign one is made again.
answers() {
	[ -x "$1" ] && "$1" --version 2>/dev/null | grep -q '^runsc version '
}

# at_least WANT HAVE
at_least() {
	[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# The first Go that can build the module, by asking each candidate that exists.
find_go() {
	for go in "$(command -v go || :)" /usr/local/go/bin/go /usr/lib/go-*/bin/go; do
		[ -x "$go" ] || continue
		have=$("$go" version | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
		[ -n "$have" ] || continue
		if at_least "$GO_NEED" "$have"; then
			echo "$go"
			return 0
		fi
		if at_least "$GO_SWITCH" "$have" && [ "$("$go" env GOTOOLCHAIN)" != local ]; then
			echo "$go"
			return 0
		fi
	done
	return 1
}

bring_old() {
	answers "$DIR/old/runsc" && return 0
	tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT || return 1
	if ! (cd "$tmp" && apt-get download runsc >log 2>&1); then
		say "no package 'runsc' to be had (try apt-get update): $(tail -n 1 "$tmp/log")"
		return 77
	fi
	dpkg-deb -x "$tmp"/runsc_*.deb "$tmp/root" && mkdir -p "$DIR/old" &&
		mv "$tmp/root/usr/bin/runsc" "$DIR/old/runsc" && answers "$DIR/old/runsc"
}

bring_new() {
	answers "$DIR/new/runsc" && return 0
	if ! go=$(find_go); then
		say "building the current runsc needs Go $GO_NEED or later on PATH, in /usr/local/go" \
			"or /usr/lib/go-*; found: $(go version 2>/dev/null || echo none)"
		return 77
	fi
	mkdir -p "$DIR/new" || return 1
	# Static, or the sentry can't re-execute itself in the chroot it makes.
	GOBIN=$(cd "$DIR/new" && pwd) CGO_ENABLED=0 \
		"$go" install -ldflags "-s -w" "gvisor.dev/gvisor/runsc@$VERSION" &&
		answers "$DIR/new/runsc"
}

[ $# -gt 0 ] || set -- old new
rc=0
for age; do
	r=0
	case $age in
	old) bring_old || r=$? ;;
	new) bring_new || r=$? ;;
	*) say "unknown '$age': want old or new" && r=1 ;;
	esac
	[ "$r" -eq 0 ] || [ "$r" -eq 77 ] || say "$age: could not be brought"
	[ "$r" -eq 0 ] || [ "$rc" -eq 1 ] || rc=$r
done
exit "$rc"
