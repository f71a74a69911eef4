#!/bin/bash
# space.sh PROGRAM ... runs a program in namespaces of its own, with a view of the root file system in which all changes
# are undone at the end. The folder /state is for containers; only the folder OUT keeps its content.
set -e
state=$(mktemp -d)
trap 'rmdir "$state"' EXIT
unshare --mount --net --pid --ipc --uts --fork --kill-child env state="$state" bash -c '
    mount --make-rprivate / && mount -t tmpfs tmpfs "$state"
    mkdir "$state"/{session,containers}
    "$SWSS_ADAPTER/root.sh" "$state/session" "$state/containers:/state" "$OUT:$OUT" -- "$@"' - "$@"
