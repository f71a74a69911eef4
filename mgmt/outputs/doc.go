// Package outputs is what all outputs of a switch share that send to collectors by themselves: a bounded spool, tries
// that become rarer, and how each of them is, with what it could not send.
//
// What belongs here: what waits, when it is sent and when not. What is sent, and how, is in the packages below it:
// otlp, syslog and dialout. Nothing that makes a message ever waits for a receiver: a message goes into the spool, and
// where there is no room the oldest goes out of it, and is counted. Messages leave in the order in which they came.
//
// A message counts as sent when the receiver has said so, where its protocol has an answer (OTLP), else when it was
// handed to the transport: UDP loses without a word, and of a TCP connection that breaks what was under way is lost
// too.
package outputs
