/* SPDX-License-Identifier: Apache-2.0 */
/* From a supervisor's ring to handlers: size, version and slot first, then type. */
#include "kern_priv.h"

#include <bpf/libbpf.h>
#include <errno.h>

struct wdr_kern_ring {
	struct ring_buffer *rb;
	struct wdr_kern *kern_ref;
	const struct wdr_kern_handlers *handlers_ref; /* during a read */
	unsigned int left;			      /* events that this read may still take */
	unsigned int taken;
};

static const size_t sizes[WDR_EV_MAX] = {
	[WDR_EV_DENIED] = sizeof(struct wdr_ev_verdict),
	[WDR_EV_KILLED] = sizeof(struct wdr_ev_killed),
	[WDR_EV_CPU] = sizeof(struct wdr_ev_cpu),
	[WDR_EV_EXEC] = sizeof(struct wdr_ev_exec),
	[WDR_EV_FORK] = sizeof(struct wdr_ev_fork),
	[WDR_EV_EXIT] = sizeof(struct wdr_ev_exit),
	[WDR_EV_OOM] = sizeof(struct wdr_ev_hdr),
	[WDR_EV_CAP] = sizeof(struct wdr_ev_cap),
	[WDR_EV_SIGSYS] = sizeof(struct wdr_ev_sigsys),
	[WDR_EV_ALLOWED] = sizeof(struct wdr_ev_verdict),
};

bool wdr_kern_event_good(const void *data, size_t size)
{
	const struct wdr_ev_hdr *h = data;

	return size >= sizeof(*h) && h->version == WDR_ABI_VERSION && h->type < WDR_EV_MAX &&
	       sizes[h->type] && size >= sizes[h->type];
}

static struct wdr_kern_slot *find_slot(struct wdr_kern *k, const struct wdr_ev_hdr *h)
{
	struct wdr_kern_slot *s;

	for (s = k->first; s; s = s->next) {
		if (s->n == h->slot)
			return s->job == h->job ? s : NULL;
	}
	return NULL;
}

static int take_event(void *ctx, void *data, size_t size)
{
	struct wdr_kern_ring *ring = ctx;
	const struct wdr_ev_hdr *h = data;
	struct wdr_kern_slot *s;

	ring->taken++;
	if (ring->handlers_ref && wdr_kern_event_good(data, size)) {
		s = find_slot(ring->kern_ref, h);
		if (s && ring->handlers_ref->on[h->type])
			ring->handlers_ref->on[h->type](s->user, h);
	}
	/* A negative value ends ring_buffer__consume(); this event counts as consumed. */
	return --ring->left ? 0 : -EAGAIN;
}

void wdr_kern_ring_freep(struct wdr_kern_ring **ringp)
{
	struct wdr_kern_ring *ring = *ringp;

	*ringp = NULL;
	if (!ring)
		return;
	ring_buffer__free(ring->rb);
	free(ring);
}

int wdr_kern_ring_new(struct wdr_kern *k, int map_fd, struct wdr_kern_ring **ret)
{
	struct wdr_kern_ring *ring;

	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->kern_ref = k;
	ring->rb = ring_buffer__new(map_fd, take_event, ring, NULL);
	if (!ring->rb) {
		free(ring);
		return -errno;
	}
	*ret = ring;
	return 0;
}

int wdr_kern_ring_fd(const struct wdr_kern *k)
{
	return k->ring ? ring_buffer__epoll_fd(k->ring->rb) : -1;
}

int wdr_kern_ring_read(struct wdr_kern *k, const struct wdr_kern_handlers *h, unsigned int max)
{
	struct wdr_kern_ring *ring = k->ring;
	int r;

	if (!ring)
		return -ENOTCONN;
	ring->handlers_ref = h;
	ring->left = max;
	ring->taken = 0;
	r = ring_buffer__consume(ring->rb);
	ring->handlers_ref = NULL;
	return r < 0 && r != -EAGAIN ? r : (int)ring->taken;
}
