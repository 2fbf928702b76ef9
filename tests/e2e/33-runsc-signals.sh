#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals, and the ends they make, through the sentry.
# timeout: 120
WDR_BACKEND=runsc exec sh "$(dirname "$0")/13-signals.sh" "$@"
