package ipfix

import "time"

// ntpEpoch is 1970 in NTP's seconds, which begin in 1900.
const ntpEpoch = 2208988800

// NTP is a time of day as 64 bits in the format of NTP (RFC 7011, section 6.1.10): seconds since 1900, and 2^-32
// seconds. It is false for times that the era from 1900 to 2036-02-07 does not have, and for nanoseconds of 10^9 and
// more. The fraction is rounded up: then the nanoseconds come out right whether a reader rounds or cuts.
func NTP(seconds uint64, nanoseconds uint32) (uint64, bool) {
	if seconds > 1<<32-1-ntpEpoch || nanoseconds >= 1e9 {
		return 0, false
	}
	fraction := (uint64(nanoseconds)<<32 + 1e9 - 1) / 1e9
	return (seconds+ntpEpoch)<<32 | fraction, true
}

// FromNTP is the time of an [NTP], to the nearest nanosecond. Zero stands for no time (RFC 5905) and is false.
func FromNTP(v uint64) (time.Time, bool) {
	if v == 0 {
		return time.Time{}, false
	}
	ns := ((v&(1<<32-1))*1e9 + 1<<31) >> 32
	return time.Unix(int64(v>>32)-ntpEpoch, int64(ns)).UTC(), true
}
