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

static void replace_filters(void *arg, uint32_t ifindex, uint32_t n)
{
	(void)n;
	wdr_kern_replace_iface(ifindex, arg);
}

void wdr_kern_replace(struct wdr_kern *k, const int *prog_fd)
{
	char path[WDR_KERN_PATH_MAX];
	struct replacing re = { .prog_fd = prog_fd, .path = path };

	wdr_kern_path(path, k->root, WDR_KERN_PARENTS);
	(void)wdr_kern_pins_each(path, replace_folder, &re);
	wdr_kern_path(path, k->root, WDR_KERN_JOBS);
	(void)wdr_kern_pins_each(path, replace_folder, &re);
	wdr_kern_ifaces_each(k, replace_filters, (void *)(uintptr_t)prog_fd);
}
