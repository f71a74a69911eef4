// Package outputs is the common part of all outputs that a switch sends to collectors. It has a bounded spool, retries
// with backoff, and the status of each output, with its losses.
//
// What belongs here: which messages wait, and when they are sent or dropped. Their content and transport are in the
// packages below: otlp, syslog, alertmanager and dialout. A producer of messages never waits for a receiver, but puts a
// message into the spool. If the spool is full, the oldest message is dropped and counted. Messages leave in order of
// arrival.
//
// A message counts as sent when the receiver has confirmed it, if its protocol has a response (OTLP, Alertmanager).
// Otherwise it counts as sent when it was handed to the transport: UDP loses silently, and a broken TCP connection
// loses the data in flight.
package outputs
