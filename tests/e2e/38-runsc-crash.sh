#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In gVisor, too, kill -9 of warder at any point leaves a dead job, and then nothing.
# timeout: 300
WDR_BACKEND=runsc exec sh "$(dirname "$0")/18-crash.sh" "$@"
