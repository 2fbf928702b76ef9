/* SPDX-License-Identifier: Apache-2.0 */
/* An upgrade: the programs of another build take the place of what hangs, between two packets. */
#include "kern_priv.h"

#include <bpf/bpf.h>
#include <string.h>

struct replacing {
	const int *prog_fd;
	const char *path;
};

static int replace_link(void *arg, const char *name)
{
	const struct replacing *re = arg;
	char path[WDR_KERN_PATH_MAX];
	wdr_close_ int link = -1;
	int p;

	for (p = 0; p < _WDR_PROG_MAX; p++) {
		if (!strcmp(wdr_kern_program(p)->name, name) && re->prog_fd[p] >= 0)
			break;
	}
	if (p == _WDR_PROG_MAX)
		return 0;
	wdr_kern_path(path, re->path, name);
	link = bpf_obj_get(path);
	if (link >= 0)
		(void)bpf_link_update(link, re->prog_fd[p], NULL);
	return 0;
}

static int replace_folder(void *arg, const char *name)
{
	const struct replacing *re = arg;
	char path[WDR_KERN_PATH_MAX];
	struct replacing in = { .prog_fd = re->prog_fd, .path = path };

	wdr_kern_path(path, re->path, name);
	return wdr_kern_pins_each(path, replace_link, &in);
}

void wdr_kern_replace(struct wdr_kern *k, const int *prog_fd)
{
	char path[WDR_KERN_PATH_MAX];
	struct replacing re = { .prog_fd = prog_fd, .path = path };
	unsigned int n;

	wdr_kern_path(path, k->root, WDR_KERN_PARENTS);
	(void)wdr_kern_pins_each(path, replace_folder, &re);
	wdr_kern_path(path, k->root, WDR_KERN_JOBS);
	(void)wdr_kern_pins_each(path, replace_folder, &re);
	for (n = 1; n < WDR_SLOTS_MAX; n++) {
		if (wdr_kern_bit_get(k->shared->slots_used, n) && k->slots[n].ifindex)
			wdr_kern_replace_iface(k->slots[n].ifindex, prog_fd);
	}
}
