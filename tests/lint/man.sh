#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages are clean mdoc or man, and say what mandoc understands. Whether a page that is referred
# to is installed here says nothing.
set -eu
rc=0
for f in docs/man/*.[1-8]; do
	[ -f "$f" ] || continue
	said=$(mandoc -Tlint -W style "$f" 2>&1 | grep -v -e 'referenced manual not found' \
		-e 'outdated mandoc.db' || :)
	[ -z "$said" ] || { printf '%s\n' "$said"; rc=1; }
done
exit $rc
