#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck on every shell script, by name or by its first line.
set -eu
find .ci packaging tests -type f ! -path '*/corpus/*' 2>/dev/null | while read -r f; do
	case ${f##*/} in
	*.sh) echo "$f" ;;
	*.*) ;;
	*) head -n 1 "$f" | grep -qE '^#!.*\b(ba|da)?sh$' && echo "$f" ;;
	esac
done | xargs -r shellcheck -x -P SCRIPTDIR
