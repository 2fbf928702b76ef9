#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An ordinary user: refused what can't be held, or run with what is left, and told precisely.
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to become another"
need setpriv jq
begin
U=$TMPDIR/u
mkdir -p "$U" && cp "$(command -v warder)" "$U/warder" && chmod 755 "$TMPDIR" "$U" && chown -R 4321 "$U"
as() { run setpriv --reuid 4321 --regid 4321 --clear-groups env -i PATH="$PATH" HOME="$U" "$@"; }

as "$U/warder" run -- true
is "without the flag it is refused" "$RC" 125
like "with what is missing" "$ERR" 'missing protection host_uid, .*memory_limit'
as "$U/warder" run --allow-degraded --json -- sh -c 'id -u; grep -E "Cap(Eff|Bnd)|NoNew|Seccomp:" /proc/self/status | tr -d "\n\t "'
is "with it, it runs" "$RC" 0
q() { printf %s "$OUT" | jq -r "$1"; }
is "in namespaces, without rights, filtered" "$(q .stdout | head -2 | tr '\n' ' ' | sed 's/ $//')" "1000 CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1Seccomp:2"
like "the result names what was missing" "$(q '.protections.degraded | join(" ")')" 'host_uid.*memory_limit.*pids_limit'
is "and not what held" "$(q '[.protections | .seccomp, .landlock, .user_ns, .net_ns, .disk_limit] | unique | join(" ")')" on
like "CPU time is known" "$(q .usage.cpu_ns)" '^[1-9]'
as "$U/warder" run --allow-degraded -- sh -c 'cat /etc/shadow; ls /proc | grep -c "^[0-9]"; python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 22), 1)" 2>&1 | tail -1'
unlike "it sees no other process" "$OUT" '^[1-9][0-9]$'
as "$U/warder" run --allow-degraded -t 300ms -- sleep 20
is "the clock holds" "$RC" 124
as "$U/warder" run --allow-degraded --pids 5 -- python3 -c 'import os
n=0
try:
  while n < 50:
    if os.fork()==0: __import__("time").sleep(5); os._exit(0)
    n+=1
except OSError: print("refused")'
is "tasks are limited by rlimit" "$OUT" refused
mkdir "$U/d" && echo own >"$U/d/f" && chown -R 4321 "$U/d" && chmod 700 "$U/d"
as "$U/warder" run --allow-degraded -v "$U/d:/d:rw" -- sh -c 'cat /d/f; echo new >/d/g'
is "mounts are the caller's" "$OUT/$(stat -c %u "$U/d/g")" own/4321
as "$U/warder" run --allow-degraded -v /root:/r -- ls /r
is "with the caller's rights" "$RC" 2
cat >"$U/overwrite" <<'P'
#!/bin/sh
exec 3>>/proc/1/exe || exit 9
P
as "$U/warder" run --allow-degraded -v "$U:/u:ro" -- sh /u/overwrite
is "a job can't write to the running warder" "$RC" 2
end
