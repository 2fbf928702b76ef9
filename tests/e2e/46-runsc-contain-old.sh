#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same containers of engines under Debian's runsc of 2022: found, held and ended by the same means.
# timeout: 300
WDR_RUNSC_AGE=old exec bash "$(dirname "$0")/45-runsc-contain.sh"
