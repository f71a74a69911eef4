#!/bin/sh
# Redis as the database of a switch: every write is in the file before it is answered, so that a kill loses none; a
# crash of the host loses at most a second.
#
# Usage: redis.sh [DIR [OPTION...]]     DIR has the data (/var/lib/redis), options are those of redis-server
set -eu
dir=${1:-/var/lib/redis}
[ $# -eq 0 ] || shift
cd "$dir"
# Data of a server without appendonly, of which there is a dump only: with appendonly Redis would not read it, and start
# empty. A file of appends may begin with a dump.
if [ -s dump.rdb ] && [ ! -e appendonlydir/appendonly.aof.manifest ] && [ ! -e appendonly.aof ]; then
	echo "redis.sh: $dir has a dump.rdb and no file of appends: the dump becomes the beginning of one" >&2
	cp dump.rdb appendonly.new
	sync appendonly.new
	mv appendonly.new appendonly.aof
fi
exec redis-server --port 6379 --dir "$dir" --appendonly yes --appendfsync everysec --save 60 1 \
	--notify-keyspace-events KEA "$@"
