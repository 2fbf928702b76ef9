#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages are clean mdoc or man, and say what mandoc understands.
set -eu
rc=0
for f in docs/man/*.[1-8]; do
	[ -f "$f" ] || continue
	mandoc -Tlint -W style "$f" || rc=1
done
exit $rc
