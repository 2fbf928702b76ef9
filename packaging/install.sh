#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Called by `make install` and `make uninstall` with PREFIX, BINDIR, DATADIR and MANDIR set.
# usage: install.sh install|uninstall PROGRAM...
set -eu
action=$1
shift

# place MODE FOLDER FILE [NAME]: copy FILE there, or remove it from there.
place() {
	[ -f "$3" ] || return 0
	name=${4:-$(basename "$3")}
	case $action in
	install) install -D -m "$1" "$3" "$2/$name" ;;
	uninstall) rm -f "$2/$name" ;;
	esac
}

for f; do place 755 "$BINDIR" "$f"; done
for f in policies/*; do place 644 "$DATADIR/warder/policies" "$f"; done
for f in docs/*.schema.json; do place 644 "$DATADIR/warder" "$f"; done
for f in docs/man/*.[1-8]; do place 644 "$MANDIR/man${f##*.}" "$f"; done
place 644 "$DATADIR/bash-completion/completions" packaging/completions/warder.bash warder
place 644 "$DATADIR/zsh/site-functions" packaging/completions/warder.zsh _warder
place 644 "$DATADIR/fish/vendor_completions.d" packaging/completions/warder.fish
if [ "$action" = uninstall ]; then
	rmdir "$DATADIR/warder/policies" "$DATADIR/warder" 2>/dev/null || :
fi
