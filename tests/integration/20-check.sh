#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warder check says yes where the thing can be done, and no where it was taken away.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
need python3 unshare setpriv chroot
begin

# answer PROTECTION: "yes" or "no WHY" out of the object in OUT.
answer() {
	printf '%s' "$OUT" | python3 -c '
import json, sys
row = {p["name"]: p for p in json.load(sys.stdin)["protections"]}[sys.argv[1]]
print("yes" if row["ok"] else "no " + row["why"])' "$1"
}

run warder check --json
for p in user_ns mount_ns pid_ns net_ns ipc_ns uts_ns cgroup_ns time_ns host_uid pivot_root \
	masked_paths no_new_privs capabilities seccomp landlock rlimits keyring cgroup_entry cgroup_kill \
	memory_limit pids_limit cpu_limit oom_events cpu_budget disk_limit egress_socket egress_packet \
	syscall_count detect_cpu proc_events heartbeat; do
	is "root can have $p" "$(answer "$p")" yes
done
like "it says which kernel it asked" "$OUT" "$(uname -r)"
unlike "the kernel keeps the CPU budget" "$OUT" 'by the supervisor'
like "which addresses a job's network gets" "$OUT" '"network": "[0-9.]+, '
like "and why there is no runsc" "$OUT" '"runsc": "WARDER_RUNSC=/no/runsc: '
unlike "programs only where asked for" "$OUT" '"programs"'
if [ -x "$WDR_RUNSC" ]; then
	run env WARDER_RUNSC="$WDR_RUNSC" warder check --json
	like "which version and platform of runsc there is" "$OUT" '"runsc": "[^ ]+ on (systrap|kvm|ptrace), /'
else
	skip "which version and platform of runsc there is" "needs $WDR_RUNSC"
fi

# programs EXPRESSION: of what is in OUT.
programs() {
	printf '%s' "$OUT" | python3 -c '
import json, sys
p = {p["name"]: p for p in json.load(sys.stdin)["programs"]}
print('"$1"')'
}
run warder check -v --json
is "each program by itself" "$(programs 'len(p) >= 20 and all(p[n]["ok"] for n in ("wdr_connect4", "wdr_tc_out", "wdr_exec"))')" True
is "with what hangs on it" "$(programs 'p["wdr_cpu_clock"]["protections"]')" "['cpu_budget', 'detect_cpu']"
like "and what the verifier says" "$(programs 'p["wdr_connect4"]["log"]')" '^processed [0-9]+ insns'
run setpriv --bounding-set -bpf,-sys_admin warder check -v --json
is "who may not load them is told so" "$(programs 'p["wdr_connect4"]["ok"], p["wdr_connect4"]["error"]')" "False Operation not permitted"
run setpriv --bounding-set -perfmon,-sys_admin warder check -v --json
like "and the verifier's own words" "$(programs 'p["wdr_connect4"]["log"]')" 'program of this type cannot use helper|unknown func'
# What is pinned already can be opened by whoever could not have loaded it: a job would be refused.
for caps in -sys_admin -bpf,-sys_admin -perfmon,-sys_admin; do
	run setpriv --bounding-set "$caps" warder check --json
	like "without $caps there is no egress" "$(answer egress_socket)" '^no .*not permitted: .*CAP_SYS_ADMIN'
	like "nor any other of the kernel's programs" "$(answer syscall_count)$(answer heartbeat)" '^no .*no '
	like "and the CPU budget is the supervisor's" "$(answer cpu_budget)" '^yes$'
	run setpriv --bounding-set "$caps" warder run --syscalls -- true
	is "as a run says" "$RC/$(echo "$ERR" | grep -c CAP_SYS_ADMIN)" 125/1
	# What no job can do without is no in the table as well, in the words of the run.
	run setpriv --bounding-set "$caps" warder check --json
	WHY=$(answer cgroup_ns)
	exits "a job that asks for the CPU budget alone" 125 setpriv --bounding-set "$caps" warder run --cpu-time 1m -- true
	is "fails for what the table says" "$WHY" "no $(echo "$ERR" | sed -n 's/^warder: \(show the job its cgroup\) [a-z,]*:/\1:/p')"
done
is "trying leaves no cgroup" "$(find /sys/fs/cgroup -maxdepth 4 -type d -name 'probe-*')" ""
run warder check --verbose
like "in lines, too" "$OUT" '^wdr_skb_out +yes  for egress_packet$'

run env WARDER_NET_POOL4=nowhere warder check --json
like "where no network can be made, no packet is judged" "$(answer egress_packet)" '^no no network for a job: .*WARDER_NET_POOL4'
is "which leaves the socket programs" "$(answer egress_socket)" yes

run setpriv --reuid 65534 --regid 65534 --clear-groups warder check --json
is "bad news is status 1" "$RC" 1
like "an ordinary user has no uid to give away" "$(answer host_uid)" '^no map the ids'
like "an ordinary user has no cgroup" "$(answer memory_limit)" '^no .*Permission denied'
like "an ordinary user has no programs" "$(answer egress_socket)" '^no .*(not permitted|Permission denied)'
like "nor anybody who keeps a CPU budget" "$(answer cpu_budget)" '^no '
is "an ordinary user has namespaces" "$(answer pid_ns)" yes

# take WHAT LIMIT: a user namespace in which no namespace of that kind can be made.
take() {
	run unshare -U -r sh -c "echo 0 >/proc/sys/user/max_$1_namespaces && exec warder check --json"
}
take net
like "no network namespace where none can be made" "$(answer net_ns)" '^no clone3 .*No space'
is "others can be made all the same" "$(answer uts_ns)" yes
take pid
like "no pid namespace where none can be made" "$(answer pid_ns)" '^no clone3 .*No space'

# A container's /proc with something mounted over it: the kernel then gives out no fresh one.
run unshare -m sh -c 'mount -t tmpfs none /proc/sys && exec warder check --json'
like "no masked paths where /proc is masked already" "$(answer masked_paths)" '^no mount a fresh proc'

run env WARDER_DISABLE=seccomp,landlock warder check --json
is "what is turned off is missing" "$(answer seccomp)" "no turned off by WARDER_DISABLE"
is "and only that" "$(answer rlimits)" yes
exits "an unknown name in WARDER_DISABLE is an error" 125 env WARDER_DISABLE=secomp warder check
like "that offers the nearest" "$ERR" 'did you mean "seccomp"'
exits "a full disk is an error" 1 sh -c 'warder check >/dev/full'
is "what is loaded is the same wherever it was built" "$(grep -lF "$TOP" "$TOP"/build/bpf/*.o 2>/dev/null)" ""
end
