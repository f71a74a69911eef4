// Package capture reads and writes packet captures: the input and output of a simulated switch, and the input of
// decoders.
//
// It reads pcap (microseconds and nanoseconds, both byte orders) and pcapng, optionally compressed with gzip. Link
// types are Ethernet, Linux's cooked headers (versions 1 and 2) and raw IP. Memory is constant, whatever the length of
// the file and its length fields. Each packet is returned as an Ethernet frame. Times are exact to the nanosecond. A
// damaged file causes an [Error] with the position and the expected content, never an invented packet. Output is
// nanosecond pcap.
//
// The readers are our own, not gopacket's pcapgo, for four reasons found in its code. Its errors carry neither packet
// number nor byte offset. Its conversion of pcapng times is inexact for resolutions that do not divide a nanosecond
// (such as 2^-20 s), and wrong for those finer than 10^-19 s. It trusts a block's length, so that a length below the
// minimum wraps to 4 GiB, and never compares the trailing length. It keeps every name-resolution and decryption-secrets
// block. The tests compare both readers on files that both read correctly.
//
// What belongs here: file formats and the order of packets. What does not: the meaning of a packet's bytes.
package capture
