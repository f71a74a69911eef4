// Package fpm decodes the messages of FRR's zebra to a forwarding plane manager: the byte stream of its module
// dplane_fpm_nl, in which each frame holds netlink messages such as RTM_NEWROUTE. It uses no interface names and no
// database, allocates no more than the length of a frame, and validates everything: a peer may send any bytes.
//
// What belongs here: the bytes of that stream. Not: the use of routes.
//
// Source: fpm/fpm.h and zebra/rt_netlink.c of FRR 8.4.4; rtnetlink(7).
package fpm
