// Package hftrecords keeps the last records of the high-frequency telemetry of one switch, for readers on the switch:
// gNMI subscriptions and the switch's page.
//
// A [Store] is one more reader of the streams. It receives the messages that syncd sends, and decodes them with the
// sessions in STATE_DB. Its memory is bounded: the oldest records go. A [Follower] gets each record once, and the
// number of those that went before it got them.
//
// What belongs here: records in memory, as they were sampled. Protocols and pages are elsewhere.
package hftrecords
