package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// DatagramsLost returns the number of datagrams that the kernel dropped since the UDP socket was opened, because the
// process read too slowly.
func DatagramsLost(socket syscall.Conn) (uint64, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var st unix.Stat_t
	failed := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) })
	if err := errors.Join(failed, err); err != nil {
		return 0, fmt.Errorf("ask what was lost: %w", err)
	}
	for _, name := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		f, err := os.Open(name)
		if os.IsNotExist(err) { // a kernel without IPv6
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("ask what was lost: %w", err)
		}
		lost, found, err := socketDrops(f, st.Ino)
		f.Close()
		if found || err != nil {
			return lost, err
		}
	}
	return 0, fmt.Errorf("ask what was lost: the kernel does not list the socket %d", st.Ino)
}

// socketDrops finds a socket by its inode in a list such as /proc/net/udp, and returns the last column, the number of
// drops.
func socketDrops(list io.Reader, inode uint64) (drops uint64, found bool, err error) {
	const inodeColumn = 9
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) <= inodeColumn+1 || columns[inodeColumn] != strconv.FormatUint(inode, 10) {
			continue
		}
		drops, err = strconv.ParseUint(columns[len(columns)-1], 10, 64)
		if err != nil {
			err = fmt.Errorf("ask what was lost: drops %q of socket %d: want a number", columns[len(columns)-1], inode)
		}
		return drops, true, err
	}
	return 0, false, lines.Err()
}
