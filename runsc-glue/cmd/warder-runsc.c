/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/enforce.h"

int main(int argc, char **argv)
{
	return wdr_shim_main(argc, argv, &wdr_shim_enforce);
}
