/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

int main(int argc, char **argv)
{
	/* Nothing enforces yet: a container with a policy is refused, any other is runsc's alone. */
	static const struct wdr_shim_hooks hooks = { NULL, NULL, NULL };

	return wdr_shim_main(argc, argv, &hooks);
}
