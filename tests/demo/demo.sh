#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows Warder at work: each step is one command, printed before it runs.
set -u
exec 2>&1
TOP=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${WDR_BUILD:-$TOP/build/plain}/bin:$PATH
DIR=$(mktemp -d)
demo_net_down() { :; } # part 50 has more to undo
trap 'rm -rf "$DIR"; demo_net_down' EXIT
export PATH
n=0
bad=0

say() {
	n=$((n + 1))
	printf '\n\033[1m%d. %s\033[0m\n' "$n" "$*"
}

# show STATUS COMMAND...: run it, and be astonished if it exits otherwise.
show() {
	want=$1
	shift
	printf '$'
	for word; do
		case $word in
		*[!A-Za-z0-9_./:=@%+-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$@"
	got=$?
	[ "$got" -eq "$want" ] && return
	printf '(exit status %d, want %d)\n' "$got" "$want"
	bad=1
}

if [ "$(id -u)" -ne 0 ]; then
	echo "make demo: run it as root: cgroups and namespaces of their own are root's to give" >&2
	exit 1
fi

say "Untrusted Python, contained by one command"
show 0 warder run -- python3 -c 'import os; print("uid", os.getuid(), "pid", os.getpid(), "sees", os.listdir("/"))'

say "It reaches nothing of this machine: not its files, not its network, not its kernel"
show 0 warder run -v "$TOP/tests/demo:/job" -- python3 /job/hostile.py

say "C and shell, too: compiled and run inside"
show 0 warder run -- sh -c 'printf "#include <stdio.h>\nint main(void) { puts(\"hello from C\"); }\n" >a.c && gcc a.c && ./a.out | tr a-z A-Z'

say "Limits hold, and the reason is told"
show 124 warder run --timeout 500ms -- sleep 60
show 137 warder run --memory 64M -- python3 -c 'x = bytearray(1 << 30)'
show 137 warder run --cpu-time 200ms -- sh -c 'while :; do :; done'
show 137 warder run --output 20 -- yes

say "What happened, as one object for programs"
show 0 warder run --json -- python3 -c 'print(40+2)' >"$DIR/result.json"
head -1 "$DIR/result.json"
/usr/bin/python3 -c 'import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[1])
print(json.dumps({k: r[k] for k in ("job", "backend", "exit", "stdout", "usage")}, indent=1))' "$DIR/result.json"

for part in "$TOP"/tests/demo/[0-9]*.sh; do
	# shellcheck source=/dev/null
	[ -f "$part" ] && . "$part"
done

printf '\n'
[ "$bad" -eq 0 ] && echo "make demo: all of it went as announced" && exit 0
echo "make demo: something went otherwise: try warder check" >&2
exit 1
