#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Under systemd every Warder's jobs are in a scope of its own in warder.slice; a unit that delegates is
# used as it is; an ordinary user's are below the user's own systemd.
# init: systemd
# timeout: 40
# shellcheck disable=SC2016 # expanded by the shell that runs it
. "$(dirname "$0")/../../lib/tap.sh"

TRY=$WDR_BUILD/tests/helpers/cgroup_try
cleanup() {
	"$TRY" sweep "$T"
	systemctl stop "$T-user.service" "$T-unit.service" warder.slice
}

left_behind() {
	find /sys/fs/cgroup -type d -name "$T" 2>/dev/null
}

begin cleanup
ok "a job gets its place from systemd" "$TRY" place "$T" memory=33554432 pids=10 cpus=0.5
like "in a scope" "$OUT" "^0::/warder.slice/warder-[0-9]+-[0-9a-f]{8}.scope/warder/$T\$"
ok "which goes with its process" wait_for 5 sh -c '! ls -d /sys/fs/cgroup/warder.slice/*.scope'

run "$TRY" leave "$T" pids=50 arg=5
LEFT=$(echo "$OUT" | sed -n 's/^left //p')
ok "a killed supervisor leaves a job" test -d "/proc/$LEFT"
ok "another finds it in that scope" "$TRY" sweep "$T"
is "and removes it" "$(left_behind)" ""

ok "a unit that delegates is used as it is" systemd-run -q --pipe --wait -p Delegate=yes \
	--slice=warder.slice --unit="$T-unit" "$TRY" place "$T" memory=33554432
like "without a scope" "$OUT" "^0::/warder.slice/$T-unit.service/warder/$T\$"
ok "one that does not" systemd-run -q --pipe --wait --unit="$T-unit" "$TRY" place "$T"
like "is left for a scope" "$OUT" "^0::/warder.slice/warder-.*.scope/warder/$T\$"

# A user's own systemd, as pam_systemd would start it.
mkdir -p /run/systemd/user /run/user/65534
printf '[Unit]\nDescription=nothing\n' | tee /run/systemd/user/idle.target \
	/run/systemd/user/shutdown.target /run/systemd/user/exit.target >/run/systemd/user/basic.target
chown 65534:65534 /run/user/65534
chmod 700 /run/user/65534
ok "a user has a systemd" systemd-run -q --unit="$T-user" -p User=65534 -p Group=65534 \
	-p Delegate=yes -p Type=notify -p TimeoutStopSec=1 -p Environment=XDG_RUNTIME_DIR=/run/user/65534 \
	/lib/systemd/systemd --user --unit=idle.target
as_user() {
	/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
		env XDG_RUNTIME_DIR=/run/user/65534 "$@"
}
ok "and jobs with limits" as_user "$TRY" eat "$T" memory=33554432 swap=0 arg=67108864
like "which hold" "$OUT" '^signal 9$'
ok "in a place" as_user "$TRY" place "$T"
like "of the user's own" "$OUT" "^0::/system.slice/$T-user.service/warder.slice/warder-.*.scope/warder/$T\$"
ok "every protection is there" as_user "$TRY" check "$T"
is "for a user, too" "$(echo "$OUT" | grep -c ' yes $')" 7
systemctl stop "$T-user.service"
fails "without a systemd of the user there is none" as_user "$TRY" new "$T"
like "and it says so" "$ERR" 'no systemd of user 65534 to ask for a scope'
is "nothing is left" "$(left_behind)" ""
end
