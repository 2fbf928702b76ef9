#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that is refused natively is refused for gVisor.
# timeout: 240
WDR_BACKEND=runsc exec sh "$(dirname "$0")/16-refusals.sh" "$@"
