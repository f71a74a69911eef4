// Package zmq lets a client of ASIC_DB talk ZeroMQ, as SONiC's orchagent does in its mode zmq_sync. It passes requests
// to the queue that syncd reads anyway, and notifications from syncd's channel. It has the part of ZeroMQ's protocol
// that this needs.
package zmq
