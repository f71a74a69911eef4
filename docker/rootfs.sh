#!/usr/bin/env bash
# Gathers what the image has beside tamtam from the Debian that it runs on: redis-server and redis-cli with their shared
# libraries, the CAs, licences of what is copied, users and folders.
#
# Usage: rootfs.sh DIR
set -euo pipefail
root=$1
programs=(/usr/bin/redis-server /usr/bin/redis-cli)
mapfile -t libraries < <(ldd "${programs[@]}" | grep -o '/[^ :]*\.so[^ :]*' | sort -u)
mkdir -p "$root"
cp -L --parents "${programs[@]}" "${libraries[@]}" /etc/ssl/certs/ca-certificates.crt "$root"
# The licences of the copied programs, which must be passed on with them. A slim Debian has them.
for file in "${programs[@]}" "${libraries[@]}"; do
	{ dpkg -S "$(realpath "$file")" "$file" 2>/dev/null || true; } | cut -d: -f1 # dpkg may have one of two names
done | sort -u | while read -r package; do
	[ ! -e "/usr/share/doc/$package/copyright" ] || cp -L --parents "/usr/share/doc/$package/copyright" "$root"
done

# The ids are those of the package and of earlier images, so that their volumes can be read.
cat >"$root/etc/passwd" <<-END
	root:x:0:0:root:/var/lib/tamtam:/nonexistent
	redis:x:100:101:redis:/var/lib/redis:/nonexistent
	tamtam:x:999:999:tamtam:/var/lib/tamtam:/nonexistent
	nobody:x:65534:65534:nobody:/nonexistent:/nonexistent
END
cat >"$root/etc/group" <<-END
	root:x:0:
	redis:x:101:
	tamtam:x:999:
	nogroup:x:65534:
END
# Writable for the user tamtam, and for a root without the capability to write files of others.
install -d -o 0 -g 999 -m 0775 "$root/var/lib/tamtam" "$root/run/tamtam"
install -d -o 100 -g 101 -m 0750 "$root/var/lib/redis"
install -d -m 1777 "$root/tmp"
install -d "$root/etc/tamtam"
