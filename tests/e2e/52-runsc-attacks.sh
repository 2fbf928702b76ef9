#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In gVisor, too, every attack is refused, and none reaches the host.
# timeout: 240
WDR_BACKEND=runsc exec sh "$(dirname "$0")/50-attacks.sh" "$@"
