/* SPDX-License-Identifier: Apache-2.0 */
#include "etc.h"

#include <arpa/inet.h>
#include <errno.h>

/* Each is a mount of every job: only what programs fail without. */
const struct wdr_etc_bind wdr_etc_binds[] = {
	{ "alternatives", true }, { "ssl/certs", true }, { "ssl/openssl.cnf", false },
	{ "ld.so.cache", false }, { "pki", true },	 { "crypto-policies", true },
	{ "fonts", true },
};
const size_t wdr_etc_n_binds = sizeof(wdr_etc_binds) / sizeof(wdr_etc_binds[0]);

const char *const wdr_etc_usr_links[] = { "bin", "sbin", "lib", "lib64", "lib32", "libx32" };
const size_t wdr_etc_n_usr_links = sizeof(wdr_etc_usr_links) / sizeof(wdr_etc_usr_links[0]);

static void write_passwd(const struct wdr_policy *p, char *buf)
{
	int n = 0;

	if (p->user.uid != 0)
		n = snprintf(buf, WDR_ETC_TEXT_MAX, "root:x:0:0:root:/root:/usr/sbin/nologin\n");
	(void)snprintf(buf + n, WDR_ETC_TEXT_MAX - (size_t)n,
		       "%s:x:%u:%u:%s:/home/user:/bin/sh\n"
		       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		       p->user.uid ? "user" : "root", p->user.uid, p->user.gid,
		       p->user.uid ? "user" : "root");
}

static void write_group(const struct wdr_policy *p, char *buf)
{
	(void)snprintf(buf, WDR_ETC_TEXT_MAX, "%s%s:x:%u:\nnogroup:x:65534:\n",
		       p->user.uid ? "root:x:0:\n" : "", p->user.gid ? "user" : "root",
		       p->user.gid);
}

static void write_resolver(const struct wdr_policy *p, char *buf)
{
	char addr[INET6_ADDRSTRLEN] = "";
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < p->net.n_dns; i++) {
		(void)inet_ntop(p->net.dns[i].family, p->net.dns[i].addr, addr, sizeof(addr));
		n += (size_t)snprintf(buf + n, WDR_ETC_TEXT_MAX - n, "nameserver %s\n", addr);
	}
}

_Static_assert(WDR_POLICY_MAX_DNS *(sizeof("nameserver \n") + INET6_ADDRSTRLEN) < WDR_ETC_TEXT_MAX,
	       "every server fits");

static void write_hosts(const struct wdr_policy *p, char *buf)
{
	(void)p;
	(void)snprintf(buf, WDR_ETC_TEXT_MAX,
		       "127.0.0.1 localhost " WDR_JOB_HOSTNAME "\n::1 localhost ip6-localhost\n");
}

static void write_nsswitch(const struct wdr_policy *p, char *buf)
{
	(void)p;
	(void)snprintf(buf, WDR_ETC_TEXT_MAX,
		       "passwd: files\ngroup: files\nhosts: files dns\n"
		       "services: files\nprotocols: files\n");
}

static void write_hostname(const struct wdr_policy *p, char *buf)
{
	(void)p;
	(void)snprintf(buf, WDR_ETC_TEXT_MAX, WDR_JOB_HOSTNAME "\n");
}

int wdr_etc_text(const struct wdr_policy *p, unsigned int i, const char **ret_name,
		 char buf[WDR_ETC_TEXT_MAX])
{
	static const struct {
		const char *name;
		void (*write)(const struct wdr_policy *p, char *buf);
	} files[] = {
		{ "passwd", write_passwd },	     { "group", write_group },
		{ "resolv.conf", write_resolver },   { "hosts", write_hosts },
		{ "nsswitch.conf", write_nsswitch }, { "hostname", write_hostname },
	};

	if (i >= sizeof(files) / sizeof(files[0]))
		return -ENOENT;
	*ret_name = files[i].name;
	files[i].write(p, buf);
	return 0;
}
