// Package interp runs P4 programs one statement at a time. It is the definition of what a program does with a packet:
// slow, short, and without any step that only speed would need. Faster engines are compared with it.
//
// A [Switch] has a program, the entries and settings that the control plane made, and the state of registers, counters
// and meters. [Switch.Receive] runs a packet at a cycle; [Switch.Sent] returns the frames that left. Time passes only
// by Receive and [Switch.Advance]. The switch has no link rates: packets pass pipelines in no time, and wait only in
// queues that have a rate.
//
// The semantics are those of bmv2's simple_switch where it defines them. docs/reference/p4.md lists what differs from
// it, and from the specification of P4. No packet and no entry ends the switch.
//
// What belongs here: the meaning of programs. What does not: file formats (package p4), commands (package control).
package interp
