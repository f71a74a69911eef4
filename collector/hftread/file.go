package hftread

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
)

// Lengths of a message of IPFIX, and its version.
const (
	headerLen = 16
	version   = 10
)

// IsMessages reports whether a file begins with a message of IPFIX, so that it has messages and is no capture.
func IsMessages(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var b [2]byte
	_, err = io.ReadFull(f, b[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return binary.BigEndian.Uint16(b[:]) == version, err
}

// Messages passes the messages of a file, one after the other, to datagram, as long as more allows. An error names the
// offset at which no message can be read.
func Messages(path string, more func() bool, datagram func(netip.AddrPort, []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, b := bufio.NewReader(f), make([]byte, 1<<16)
	local := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	for at := int64(0); more(); {
		n, err := io.ReadFull(in, b[:headerLen])
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: byte %d: message: %d bytes, want the %d of its header and more: %w", path, at, n, headerLen,
				err)
		}
		if v := binary.BigEndian.Uint16(b); v != version {
			return fmt.Errorf("%s: byte %d: version: %d, want %d", path, at, v, version)
		}
		length := int(binary.BigEndian.Uint16(b[2:]))
		if length < headerLen {
			return fmt.Errorf("%s: byte %d: length: %d, want %d and more", path, at+2, length, headerLen)
		}
		if n, err := io.ReadFull(in, b[headerLen:length]); err != nil {
			return fmt.Errorf("%s: byte %d: message: %d bytes, want %d: %w", path, at, headerLen+n, length, err)
		}
		if err := datagram(local, b[:length]); err != nil {
			return err
		}
		at += int64(length)
	}
	return nil
}
