// Package ingest turns the messages of switches into events, and appends them to the collector's log.
//
// A Sender is one source of the log. It spreads its events over the partitions of their kind, in batches that it
// numbers, and appends each until the log has kept it. A full log makes the sender and its reader wait. Losses
// meanwhile are detected by sequence numbers (IPFIX, sFlow) or by the kernel (an interface, a socket), and reported to
// the partitions. A Tap finds in frames: tail-stamps, also in ERSPAN copies, copies of records in UDP and ERSPAN, and
// reports of drops in IPFIX and sFlow. Live sources report the time from which on they receive, by their own clock or
// by those of the switches. Gaps in the sequence numbers of ERSPAN copies are reported as lost.
//
// What belongs here: conversion of frames and datagrams into events, and their delivery into the log. Not: the use of
// events.
package ingest
