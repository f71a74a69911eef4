#!/bin/bash
# program.sh NAME ARGUMENT ... runs a program of SONiC. If there is none, it reports that and does nothing, because the
# tests begin only when supervisord has all their programs running.
type -P "$1" >/dev/null && exec "$@"
echo "$1: no such program, so tests that depend on it fail"
exec sleep infinity
