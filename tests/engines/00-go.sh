#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where only the distribution's old Go is there, a newer one is fetched that builds the current runsc.
# timeout: 300
. "$(dirname "$0")/../lib/tap.sh"
OLD=${WDR_OLD_GO:-/usr/bin/go}
[ -x "$OLD" ] || skip_all "needs $OLD (golang-go)"
case $("$OLD" version) in
*go1.1[0-9]* | *go1.20*) ;;
*) skip_all "$("$OLD" version) can fetch a newer one by itself" ;;
esac
begin
bring() { WDR_GO=$OLD WDR_GO_DIR="$TMPDIR/go" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$TOP/packaging/runsc.sh" go "$1"; }
run bring 1.25.5
is "a Go is there" "$RC/$OUT" "0/$TMPDIR/go/bin/go"
run "$OUT" version
like "of that version" "$OUT" 'go1\.25\.5 '
mkdir "$TMPDIR/m"
printf 'module m\n\ngo 1.25\n' >"$TMPDIR/m/go.mod"
printf 'package main\n\nfunc main() { println("built") }\n' >"$TMPDIR/m/main.go"
build() { cd "$TMPDIR/m" && CGO_ENABLED=0 GOTOOLCHAIN=local "$TMPDIR/go/bin/go" build -o m . && ./m; }
run build
is "it builds" "$RC/$ERR" 0/built
run bring 1.25.5
is "it is not fetched again" "$RC/$ERR" 0/
exits "none is fetched that would be too old" 77 bring 1.99
end
