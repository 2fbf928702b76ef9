#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The completions parse, and offer what fits where the cursor is. (tests/unit/test_cli_docs.c compares
# their options with the tables.)
set -u
rc=0
bash -n packaging/completions/warder.bash || rc=1
. packaging/completions/warder.bash
compopt() { :; } # has no meaning outside of a completion

# offer WANT WORD...: completing the last WORD gives WANT (blanks between, sorted).
offer() {
	local want=$1 got
	shift
	COMP_WORDS=(warder "$@")
	COMP_CWORD=$#
	_warder
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' ')
	[ "${got% }" = "$want" ] && return
	echo "bash: warder $* offers \"${got% }\", not \"$want\""
	rc=1
}

offer 'check help policy run unload version' ''
offer 'run' r
offer '--timeout' run --ti
offer 'auto native runsc' run -b ''
offer 'native' run --backend n
offer 'egress' run --net = eg
offer 'egress host none' run --net =
offer 'host' run -t 5 -q --json --net h
offer '' run -m ''
offer 'runcon' run --json -q runcon
offer 'docs/man' run -- prog docs/m
offer 'docs/man' run python3 -c docs/m
offer 'docs/man' run -t 5 python3 --net docs/m
offer '--name --net --no-pty' run --n
offer 'runcon' run -- runcon
offer '--help' check --h
offer 'check explain show' policy ''
offer 'docs/man' policy check docs/ma
offer '--memory --mount' policy show docs/x --m
offer 'egress' policy show --net e
offer '' policy check --m
offer 'version' help v

if command -v fish >/dev/null; then
	fish -n packaging/completions/warder.fish || rc=1
	got=$(HOME=/nonexistent fish --no-config -c 'source packaging/completions/warder.fish
		complete -C "warder run --net "; complete -C "warder policy show x --mem"; complete -C "warder po"' |
		cut -f 1 | sort | tr '\n' ' ')
	[ "$got" = '--memory egress host none policy ' ] || { echo "fish offers \"$got\""; rc=1; }
fi
if command -v zsh >/dev/null; then
	zsh -n packaging/completions/warder.zsh || rc=1
fi
exit $rc
