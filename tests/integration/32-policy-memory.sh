#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that is out at any moment: warder policy says so, or says what it would have said.
# timeout: 60
. "$(dirname "$0")/../lib/tap.sh"
need cc
dir=$TMPDIR/$T
cleanup() { rm -rf "$dir"; }
begin cleanup
mkdir -p "$dir"
cd "$dir" || exit 1
cc -shared -fPIC -O1 -o fail.so "$TOP/tests/integration/failing_malloc.c" || exit 1
cat >p.json <<-EOF
	{"version": 1, "env": {"A": "b"}, "privileges": {"capabilities": ["CAP_KILL"]},
	 "filesystem": {"root": "./r", "tmpfs": ["/a"], "mounts": [{"source": "a", "target": "/b"}]},
	 "syscalls": {"allow": ["read"]},
	 "network": {"mode": "egress", "dns": ["192.0.2.53"], "rules": [
	  {"action": "allow", "to": "198.51.100.0/24", "ports": ["443"], "proto": "tcp", "name": "a"},
	  {"action": "deny", "list": "l.txt"}]}}
EOF
echo 203.0.113.0/24 >l.txt

# survives WHAT ARG...: whichever allocation fails, the answer is the good one or "no memory".
survives() {
	what=$1
	shift
	warder policy "$@" >want || exit 1
	want=$(cat want)
	good=0 refused=0 n=0
	while [ "$n" -lt 700 ] && [ "$good" -lt 40 ]; do
		n=$((n + 1))
		run env WDR_FAIL_AT=$n LD_PRELOAD="$dir/fail.so" "$WDR_BUILD/bin/warder" policy "$@"
		case $RC:$ERR in
		0:)
			good=$((good + 1))
			[ "$OUT" = "$want" ] && continue
			;;
		1:*": Cannot allocate memory" | 125:*": Cannot allocate memory"*)
			refused=$((refused + 1))
			continue
			;;
		esac
		is "$what with allocation $n failing" "$RC $OUT $ERR" "0 $want"
		return
	done
	ok "$what: an answer or none, $refused times none" [ "$refused" -gt 50 ]
}
survives check check p.json
survives show show p.json --allow 192.0.2.1:80 -v x:/y -e Q=1 --root z
survives explain explain --json p.json 198.51.100.7:443 203.0.113.1:80
end
