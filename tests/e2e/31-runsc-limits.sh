#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In gVisor, too, every limit holds and is told apart from the others.
# timeout: 300
WDR_BACKEND=runsc exec sh "$(dirname "$0")/11-limits.sh" "$@"
