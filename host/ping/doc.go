// Package ping sends echo requests for operators: the operations ping and traceroute. A [Service] runs in the daemon
// that makes the switch a host. It receives requests through Redis, sends by a [Network], and writes the answers to
// STATE_DB. The network is our own IP stack (hostd) or Linux (hostifd).
//
// # What an answer is
//
// Each ping has an identifier of its own and data that are derived from the id of the client's request. That is random
// unless the client chooses one, so that other hosts cannot guess the data. An echo reply counts if it comes from the
// destination, with the data that were sent. An ICMP error counts if it quotes enough of a request: addresses,
// identifier and sequence number. Messages with a known identifier that do not fit are counted as strange, and change
// nothing else. A request that was answered after its timeout is not lost.
//
// A request without an answer is not a lost packet: a policer of the CPU's traps may have dropped the reply. The answer
// then has a note about it.
//
// What belongs here: sending requests, and matching what comes back. Not: IP, neighbours and sockets.
package ping
