/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nftables. Rules go through libnftables, loaded when there is something to run: linked, it would
 * cost every start 0.39 ms. What each slot asks (is the table there, what does a counter say,
 * remove it) is one netlink message and does without.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>
#include <string.h>

#include "net_nl_priv.h"
#include "net_priv.h"

struct nft {
	void *lib;
	struct nft_ctx *ctx;
	__typeof__(nft_ctx_new) *ctx_new;
	__typeof__(nft_ctx_free) *ctx_free;
	__typeof__(nft_ctx_buffer_output) *buffer_output;
	__typeof__(nft_ctx_buffer_error) *buffer_error;
	__typeof__(nft_ctx_get_output_buffer) *get_output;
	__typeof__(nft_ctx_get_error_buffer) *get_error;
	__typeof__(nft_ctx_output_set_flags) *set_flags;
	__typeof__(nft_run_cmd_from_buffer) *run;
};

static void nft_close(struct nft *n)
{
	if (n->ctx)
		n->ctx_free(n->ctx);
	if (n->lib)
		(void)dlclose(n->lib);
	*n = (struct nft){ 0 };
}

#define SYMBOL(name, field)                       \
	{                                         \
		name, offsetof(struct nft, field) \
	}

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	SYMBOL("nft_ctx_new", ctx_new),
	SYMBOL("nft_ctx_free", ctx_free),
	SYMBOL("nft_ctx_buffer_output", buffer_output),
	SYMBOL("nft_ctx_buffer_error", buffer_error),
	SYMBOL("nft_ctx_get_output_buffer", get_output),
	SYMBOL("nft_ctx_get_error_buffer", get_error),
	SYMBOL("nft_ctx_output_set_flags", set_flags),
	SYMBOL("nft_run_cmd_from_buffer", run),
};

static int nft_open(struct nft *n, struct wdr_err *err)
{
	*n = (struct nft){ 0 };
	n->lib = dlopen("libnftables.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!n->lib)
		return wdr_err_set(err, -ENOPKG, "a job's network needs libnftables: %s",
				   dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *p = dlsym(n->lib, symbols[i].name);

		if (!p)
			return wdr_err_set(err, -ENOPKG, "libnftables has no %s", symbols[i].name);
		memcpy((char *)n + symbols[i].at, &p, sizeof(p));
	}
	n->ctx = n->ctx_new(NFT_CTX_DEFAULT);
	if (!n->ctx || n->buffer_output(n->ctx) || n->buffer_error(n->ctx))
		return -ENOMEM;
	return 0;
}

/* Its messages are lines: what is wrong, the rule where it is, and a line of carets below. */
static int explain(struct nft *n, struct wdr_err *err)
{
	int code = errno ? -errno : -EIO;
	const char *what = n->get_error(n->ctx);
	const char *rule;
	size_t n_what;

	if (!what || !*what)
		return wdr_err_set(err, code, "nftables refuses without a reason");
	n_what = strcspn(what, "\n");
	rule = what + n_what + strspn(what + n_what, "\n \t");
	return wdr_err_set(err, code, "nftables: %.*s: %.*s", (int)n_what, what,
			   (int)strcspn(rule, "\n"), rule);
}

int wdr_net_nft_run(const char *text, bool leave_open, struct wdr_err *err)
{
	struct nft n;
	int r = nft_open(&n, err);

	errno = 0;
	if (r == 0 && n.run(n.ctx, text))
		r = explain(&n, err);
	if (!leave_open)
		nft_close(&n);
	return r;
}

int wdr_net_nft_list(const char *text, char **ret_json, struct wdr_err *err)
{
	wdr_cleanup(nft_close) struct nft n;
	int r = nft_open(&n, err);

	if (r < 0)
		return r;
	n.set_flags(n.ctx, NFT_CTX_OUTPUT_JSON);
	errno = 0;
	if (n.run(n.ctx, text))
		return explain(&n, err);
	*ret_json = strdup(n.get_output(n.ctx));
	return *ret_json ? 0 : -ENOMEM;
}

static void start(struct wdr_nl_msg *m, int type)
{
	const struct nfgenmsg head = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };

	wdr_nl_start(m, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), 0, &head, sizeof(head));
}

int wdr_net_nft_exists(int nf_fd)
{
	struct wdr_nl_msg m;
	int r;

	start(&m, NFT_MSG_GETTABLE);
	wdr_nl_put_text(&m, NFTA_TABLE_NAME, WDR_NET_TABLE);
	r = wdr_nl_call(nf_fd, &m, NULL);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : 1;
}

/* A change is a batch: begin, what to do, end. */
int wdr_net_nft_remove(int nf_fd, struct wdr_err *err)
{
	const struct nfgenmsg batch = { .version = NFNETLINK_V0,
					.res_id = htons(NFNL_SUBSYS_NFTABLES) };
	const struct nfgenmsg head = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };
	struct wdr_nl_msg m;
	int r = wdr_net_nft_exists(nf_fd);

	if (r == 0)
		return 0;
	if (r < 0)
		return wdr_err_wrap(err, r, "look for nftables table inet " WDR_NET_TABLE);
	wdr_nl_start(&m, NFNL_MSG_BATCH_BEGIN, 0, &batch, sizeof(batch));
	m.hdr.nlmsg_flags = NLM_F_REQUEST; /* the one that is acknowledged is the next */
	wdr_nl_next(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE, NLM_F_ACK, &head,
		    sizeof(head));
	wdr_nl_put_text(&m, NFTA_TABLE_NAME, WDR_NET_TABLE);
	wdr_nl_next(&m, NFNL_MSG_BATCH_END, 0, &batch, sizeof(batch));
	r = wdr_nl_call(nf_fd, &m, err);
	if (r < 0 && r != -ENOENT)
		return wdr_err_wrap(err, r, "remove nftables table inet " WDR_NET_TABLE);
	return 1;
}

static int take_counter(const struct nlmsghdr *h, void *userdata)
{
	uint64_t *ret = userdata;
	size_t n = 0;
	const void *attrs = wdr_nl_attrs(h, sizeof(struct nfgenmsg), &n);
	const void *data = wdr_nl_find(attrs, n, NFTA_OBJ_DATA, 0, &n);
	const void *packets =
		data ? wdr_nl_find(data, n, NFTA_COUNTER_PACKETS, sizeof(*ret), NULL) : NULL;

	if (!packets)
		return -EIO;
	memcpy(ret, packets, sizeof(*ret));
	*ret = be64toh(*ret);
	return 0;
}

int wdr_net_nft_counter(int nf_fd, const char *name, uint64_t *ret)
{
	struct wdr_nl_msg m;

	start(&m, NFT_MSG_GETOBJ);
	wdr_nl_put_text(&m, NFTA_OBJ_TABLE, WDR_NET_TABLE);
	wdr_nl_put_text(&m, NFTA_OBJ_NAME, name);
	wdr_nl_put_u32(&m, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
	return wdr_nl_ask(nf_fd, &m, take_counter, ret);
}
