// Package fpm reads what FRR's zebra says to a forwarding plane manager: the byte stream of its module
// dplane_fpm_nl, in which each frame holds messages of netlink, as RTM_NEWROUTE. It knows no interface by name and no
// database, allocates no more than a frame is long, and takes nothing for granted: a peer may send anything.
//
// What belongs here: bytes of that stream. Not what becomes of a route.
//
// Source: fpm/fpm.h and zebra/rt_netlink.c of FRR 8.4.4; rtnetlink(7).
package fpm
