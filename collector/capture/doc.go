// Package capture reads and writes packet captures: what comes into a simulated
// switch from a file, what leaves it into one, and what the decoders read.
//
// It reads pcap (microseconds and nanoseconds, both byte orders) and pcapng, packed by gzip
// or not, of Ethernet, of Linux' cooked headers (versions 1 and 2) and of raw IP, in constant
// memory however long the file is or whatever its length fields claim. Each packet is given as
// an Ethernet frame. Times are exact to the nanosecond. A file that is damaged gives an [Error]
// that says where and what was expected; it never gives a made-up packet. Output is
// nanosecond pcap.
//
// The readers are our own, not gopacket's pcapgo, for four reasons found by reading
// it: its errors carry neither packet number nor byte offset; its conversion of pcapng
// times is inexact for resolutions that do not divide a nanosecond (2^-20 s, say) and
// wrong for those finer than 10^-19 s; it trusts a block's length, so that a
// length below the minimum wraps to 4 GiB and the trailing one is never compared; and
// it keeps every name-resolution and decryption-secrets block that it meets. The
// tests hold the two equal on files that both read rightly.
//
// What belongs here: file formats and the order of packets. What does not: the
// meaning of a packet's bytes.
package capture
