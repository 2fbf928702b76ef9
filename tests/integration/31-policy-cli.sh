#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warder policy: check, show and explain through the shipped program.
# timeout: 30
. "$(dirname "$0")/../lib/tap.sh"
need python3 unshare ip
dir=$TMPDIR/$T
cleanup() { rm -rf "$dir"; }
begin cleanup
mkdir -p "$dir"
cd "$dir" || exit 1

write() { printf '%s' "$2" >"$1"; }

# check: silence or a sentence
write good.json '{"version": 1}'
run warder policy check good.json
is "a good policy is 0" "$RC" 0
is "and silent" "$OUT$ERR" ""
run warder policy check agent
is "a name is as good as a file" "$RC$ERR" 0

# refuses FILE WHAT: status 1, one line that begins with the place.
refuses() {
	run warder policy check "$1"
	is "$1 is refused with 1" "$RC" 1
	is "$1: nothing but the sentence" "$OUT$(printf '%s\n' "$ERR" | wc -l)" 1
	like "$1: $2" "$ERR" "$2"
}
write typo.json '{"version": 1, "limits": {"memry": "1G"}}'
refuses typo.json '^warder: typo.json:/limits/memry: unknown key "memry", did you mean "memory"\?$'
write syntax.json '{"version": 1,
  "limits": {"pids": 3,}}'
refuses syntax.json '^warder: syntax.json:2:24: .*no comma behind the last entry$'
write twice.json '{"version": 1, "name": "a", "\u006eame": "b"}'
refuses twice.json '^warder: twice.json:1:39: duplicate object key near .".u006eame".$'
refuses missing.json '^warder: missing.json: No such file'
refuses nowhere '^warder: no policy "nowhere": want a file, or a name'
refuses agnet '^warder: no policy "agnet", did you mean "agent"\?$'
mkdir folder.json
refuses folder.json '^warder: folder.json: Is a directory$'
mkfifo pipe.json
refuses pipe.json '^warder: pipe.json: neither a regular file nor a pipe$'
python3 -c 'print("[" * 100000)' >deep.json
refuses deep.json '^warder: deep.json:1:33: nested deeper than 32 levels$'
python3 -c 'print(" " * (10 << 20))' >large.json
refuses large.json '^warder: large.json: larger than 1 MiB$'
write list.json '{"version": 1, "network": {"mode": "egress", "rules": [
  {"action": "deny", "list": "l.txt"}]}}'
refuses list.json '/l.txt: No such file'
printf '# all\n192.0.2.0/24\nexample.org\n' >l.txt
refuses list.json '/l.txt:3: not an address: "example.org"'
python3 -c '
import json
rules = [{"action": "allow", "to": "192.0.2.0/24", "ports": [p]} for p in range(1, 130)]
print(json.dumps({"version": 1, "network": {"mode": "egress", "rules": rules}}))' >nested.json
refuses nested.json '^warder: nested.json:/network/rules: 192.0.2.0/24 is matched by more than 128'
long=$(printf '%0200d' 0)
mkdir -p "$long"
write "$long/p.json" '{"version": 2}'
run warder policy check "$long/p.json"
like "a long name leaves room for the place" "$ERR" '^warder: \.\.\.0*/p.json:/version: version 2'

write socket.json '{"version": 1, "filesystem": {"mounts": [
  {"source": ".", "target": "/a"}, {"source": "s.sock", "target": "/s"}]}}'
run warder policy check socket.json
is "a source that is not there yet is the run's trouble" "$RC$ERR" 0
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s.sock")'
run warder policy check socket.json
is "a socket as a source is allowed" "$RC" 0
like "and said" "$ERR" '^warder: socket.json:/filesystem/mounts/1/source: note: a socket'

# show: the normal form of policy and options
run warder policy show good.json --memory 1G -e A=b --allow 192.0.2.1:443 -v ./x:/x:rw
is "show prints a policy" "$RC$ERR" 0
like "with what the options say" "$OUT" '"memory": "1G"'
like "with defaults written out" "$OUT" '"pids": 100'
like "with absolute sources" "$OUT" "\"source\": \"$(pwd -P)/x\""
like "--allow brings a network" "$OUT" '"mode": "egress"'
printf '%s' "$OUT" >once.json
is "and is its own normal form" "$(warder policy show once.json)" "$OUT"
is "from a pipe, too" "$(warder policy show good.json | warder policy show /dev/stdin |
	grep -v '"name"')" "$(warder policy show good.json | grep -v '"name"')"
exits "a bad value of an option is 1" 1 warder policy show good.json --memory 1g
like "which names it" "$ERR" '^warder: --memory: not a size: "1g"'
exits "an unknown option is 125" 125 warder policy show good.json --memry 1G
like "which names the nearest" "$ERR" 'did you mean --memory'
exits "no file is 125" 125 warder policy show
exits "output that can't be written is an error" 1 sh -c 'warder policy show good.json >/dev/full'

# explain: one line a destination, from the compiled form
write net.json '{"version": 1, "network": {"mode": "egress", "dns": ["192.0.2.53"], "rules": [
  {"action": "allow", "to": "198.51.100.0/24", "ports": ["443"], "proto": "tcp", "name": "reg"},
  {"action": "deny", "to": "203.0.113.0/25"},
  {"action": "allow", "to": "0.0.0.0/0", "ports": ["80"]}]}}'
run warder policy explain net.json 198.51.100.7:443 203.0.113.1:80 198.51.100.7:80/udp \
	198.51.100.7:22 10.1.1.1:80 192.0.2.53:53/udp '[::ffff:198.51.100.7]:443' 198.51.100.7/icmp \
	'[64:ff9b::198.51.100.7]:443'
is "explain says it of each" "$RC $OUT" '0 198.51.100.7:443 allow rule 0 "reg"
203.0.113.1:80 deny rule 1
198.51.100.7:80/udp allow rule 2
198.51.100.7:22 deny default
10.1.1.1:80 deny private
192.0.2.53:53/udp allow dns
[::ffff:198.51.100.7]:443 allow rule 0 "reg"
198.51.100.7/icmp deny protocol
[64:ff9b::198.51.100.7]:443 deny default'
run warder policy explain --deny 198.51.100.7 net.json 198.51.100.7:443 198.51.100.8:443
is "options come first in the count" "$OUT" '198.51.100.7:443 deny rule 0
198.51.100.8:443 allow rule 1 "reg"'
run warder policy explain default 198.51.100.7:443
is "without a network all is denied" "$OUT" '198.51.100.7:443 deny default'
run warder policy explain --json net.json 198.51.100.7:443 10.1.1.1:80
is "--json is an array of objects" "$(printf '%s' "$OUT" | python3 -c '
import json, sys
for o in json.load(sys.stdin):
	print(*o.items())')" "('dest', '198.51.100.7:443') ('verdict', 'allow') ('reason', 'rule') ('rule', 0) ('rule_name', 'reg')
('dest', '10.1.1.1:80') ('verdict', 'deny') ('reason', 'private') ('rule', None) ('rule_name', None)"
exits "a bad DEST is 1" 1 warder policy explain net.json 198.51.100.7:443 example.org:443
is "and nothing of the others is said" "$OUT" ""
like "it says what a DEST is" "$ERR" 'not an address: "example.org"'
exits "no DEST is 125" 125 warder policy explain net.json

run unshare -n sh -c 'ip addr add 198.51.100.7/32 dev lo && ip link set lo up &&
	warder policy explain net.json 198.51.100.7:80 198.51.100.8:80'
is "an address of this machine is private" "$OUT" '198.51.100.7:80 deny private
198.51.100.8:80 allow rule 2'
end
