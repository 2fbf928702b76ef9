#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bring gVisor's runsc for the tests: build/runsc/old/runsc is the distribution's package,
# build/runsc/new/runsc and latest/runsc are built from pinned modules. Quick and silent when all are there.
#
# usage: packaging/runsc.sh [old] [new] [latest]     (default: all)
#        packaging/runsc.sh go VERSION      print the path of a Go that builds what needs that version
# Exit status: 0 all asked for are there, 77 one can't be had here (said on stderr), 1 it broke.
set -eu

# Each with the `go` line of its go.mod.
NEW=v0.0.0-20260122175437-89a5d21be8f0 NEW_GO=1.25.5
LATEST=v0.0.0-20260905035102-160fafc42237 LATEST_GO=1.26.3
GO_SWITCH=1.21 # from here on a Go fetches a newer one itself, unless GOTOOLCHAIN=local
GO_FETCH=1.26.3 # what is fetched where there is only an older one
DIR=${WDR_RUNSC_DIR:-$(dirname "$0")/../build/runsc}
GO_DIR=${WDR_GO_DIR:-$(dirname "$0")/../build/go}

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

# candidates: the Gos that are here. WDR_GO: this one and no other.
candidates() {
	if [ -n "${WDR_GO:-}" ]; then
		echo "$WDR_GO"
		return
	fi
	for go in "$(command -v go || :)" /usr/local/go/bin/go /usr/lib/go-*/bin/go; do
		[ ! -x "$go" ] || echo "$go"
	done
}

# find_go NEED: the first that can build what needs that version, by asking each; else one that is
# fetched.
find_go() {
	for go in $(candidates) "$GO_DIR/bin/go"; do
		[ -x "$go" ] || continue
		have=$("$go" version | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
		[ -n "$have" ] || continue
		if at_least "$1" "$have"; then
			echo "$go"
			return 0
		fi
		if at_least "$GO_SWITCH" "$have" && [ "$("$go" env GOTOOLCHAIN)" != local ]; then
			echo "$go"
			return 0
		fi
	done
	at_least "$1" "$GO_FETCH" && fetch_go >&2 && echo "$GO_DIR/bin/go"
}

# A Go of before GO_SWITCH can't fetch a newer one, but the module that newer ones fetch, whose sum
# it compares with that of the public log. A module's files have no x bits.
fetch_go() {
	old=$(candidates | head -n 1)
	[ -n "$old" ] || return 1
	mkdir -p "$GO_DIR" && GO_DIR=$(cd "$GO_DIR" && pwd) || return 1
	module=golang.org/toolchain@v0.0.1-go$GO_FETCH.$("$old" env GOOS)-$("$old" env GOARCH)
	say "fetching Go $GO_FETCH ($module)"
	mkdir -p "$GO_DIR/new" && (cd "$GO_DIR/new" &&
		GOTOOLCHAIN=local GOFLAGS=-modcacherw GOMODCACHE=$GO_DIR/new "$old" mod download "$module") || return 1
	mv "$GO_DIR/new/$module"/* "$GO_DIR" && rm -rf "$GO_DIR/new" || return 1
	chmod +x "$GO_DIR"/bin/* && find "$GO_DIR/pkg/tool" -type f -exec chmod +x {} + &&
		"$GO_DIR/bin/go" version
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

# build AGE VERSION GO
build() {
	answers "$DIR/$1/runsc" && return 0
	if ! go=$(find_go "$3"); then
		say "building the $1 runsc needs Go $3 or later on PATH, in /usr/local/go" \
			"or /usr/lib/go-*, or any that can fetch it; found:" \
			"$("$(candidates | head -n 1)" version 2>/dev/null || echo none)"
		return 77
	fi
	mkdir -p "$DIR/$1" || return 1
	# Static, or the sentry can't re-execute itself in the chroot it makes.
	GOBIN=$(cd "$DIR/$1" && pwd) CGO_ENABLED=0 \
		"$go" install -ldflags "-s -w" "gvisor.dev/gvisor/runsc@$2" &&
		answers "$DIR/$1/runsc"
}

if [ "${1:-}" = go ]; then
	find_go "$2" || exit 77
	exit 0
fi
[ $# -gt 0 ] || set -- old new latest
rc=0
for age; do
	r=0
	case $age in
	old) bring_old || r=$? ;;
	new) build new "$NEW" "$NEW_GO" || r=$? ;;
	latest) build latest "$LATEST" "$LATEST_GO" || r=$? ;;
	*) say "unknown '$age': want old, new or latest" && r=1 ;;
	esac
	[ "$r" -eq 0 ] || [ "$r" -eq 77 ] || say "$age: could not be brought"
	[ "$r" -eq 0 ] || [ "$rc" -eq 1 ] || rc=$r
done
exit "$rc"
