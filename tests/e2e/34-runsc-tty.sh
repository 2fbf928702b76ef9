#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A terminal for a job in gVisor.
# timeout: 120
WDR_BACKEND=runsc exec sh "$(dirname "$0")/14-tty.sh" "$@"
