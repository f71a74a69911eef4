package ipfix

import "time"

// ntpEpoch is the start of 1970 in NTP seconds, which count from 1900.
const ntpEpoch = 2208988800

// NTP returns a Unix time in the 64-bit format of NTP (RFC 7011, section 6.1.10): seconds since 1900, and units of
// 2^-32 seconds. It returns false for times outside the era from 1900 to 2036-02-07, and for 10^9 nanoseconds or more.
// The fraction is rounded up, so that the nanoseconds are exact whether a reader rounds or truncates.
func NTP(seconds uint64, nanoseconds uint32) (uint64, bool) {
	if seconds > 1<<32-1-ntpEpoch || nanoseconds >= 1e9 {
		return 0, false
	}
	fraction := (uint64(nanoseconds)<<32 + 1e9 - 1) / 1e9
	return (seconds+ntpEpoch)<<32 | fraction, true
}

// FromNTP returns the time of an [NTP] value, to the nearest nanosecond. It returns false for zero, which means no time
// (RFC 5905).
func FromNTP(v uint64) (time.Time, bool) {
	if v == 0 {
		return time.Time{}, false
	}
	ns := ((v&(1<<32-1))*1e9 + 1<<31) >> 32
	return time.Unix(int64(v>>32)-ntpEpoch, int64(ns)).UTC(), true
}
