/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the enumerations, in the order of their values. */
#include "policy_priv.h"

#include <linux/capability.h>

const char *const wdr_words_backend[] = { "auto", "runsc", "native", NULL };
const char *const wdr_words_net_mode[] = { "none", "egress", "host", NULL };
const char *const wdr_words_verdict[] = { "deny", "allow", NULL };
const char *const wdr_words_on_deny[] = { "reject", "drop", "kill", NULL };
const char *const wdr_words_on_syscall[] = { "errno", "kill", NULL };
const char *const wdr_words_on_output[] = { "kill", "truncate", NULL };
const char *const wdr_words_on_loss[] = { "kill", "contain", NULL };
const char *const wdr_words_detect[] = { "off", "alert", "throttle", "kill", NULL };
const char *const wdr_words_profile[] = { "default", "strict", NULL };
const char *const wdr_words_audit[] = { "exec", "egress", "file", NULL };

/* linux/capability.h of 5.9 and later; the numbers never change. */
const char *const wdr_words_caps[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
	NULL,
};

_Static_assert(sizeof(wdr_words_caps) / sizeof(wdr_words_caps[0]) == CAP_CHECKPOINT_RESTORE + 2,
	       "a name per capability up to the last one known");

const char *wdr_policy_capability_name(unsigned int cap)
{
	return cap <= CAP_CHECKPOINT_RESTORE ? wdr_words_caps[cap] : NULL;
}
