/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/pod.h"

#include <errno.h>
#include <string.h>

int wdr_shim_pod_check(const char *dir, const char *root, const struct wdr_shim_settings *s,
		       const struct wdr_shim_bundle *b, struct wdr_err *err)
{
	wdr_shim_record_ struct wdr_shim_record *pod = NULL;
	const char *name = NULL;
	int r = wdr_shim_choose(s, b, &name, err);

	if (r < 0)
		return r;
	r = b->sandbox ? wdr_shim_record_read(dir, root, b->sandbox, &pod) : -ENOENT;
	if (r < 0 && r != -ENOENT)
		return wdr_err_wrap(err, r, "what is known of the sandbox of its pod");
	if (!pod && !name)
		return 0;
	if (!pod)
		return wdr_err_set(err, -EPERM,
				   "policy \"%s\" can't hold in a pod that was made without one: "
				   "give it to the pod",
				   name);
	if (!pod->done)
		return wdr_err_set(err, -EPERM,
				   "the creation of its pod was interrupted: delete that");
	if (b->policy && strcmp(b->policy, pod->policy) != 0)
		return wdr_err_set(err, -EPERM,
				   "policy \"%s\" can't hold in a pod that has \"%s\": all of a "
				   "pod has one",
				   b->policy, pod->policy);
	return 0;
}
