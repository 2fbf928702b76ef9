#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The result object of a job in gVisor.
# timeout: 180
WDR_BACKEND=runsc exec sh "$(dirname "$0")/12-result.sh" "$@"
