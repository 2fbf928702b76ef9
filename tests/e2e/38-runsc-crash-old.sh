#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same under Debian's runsc of 2022.
# timeout: 300
WDR_RUNSC=$(dirname "$0")/../../build/runsc/old/runsc exec sh "$(dirname "$0")/38-runsc-crash.sh"
