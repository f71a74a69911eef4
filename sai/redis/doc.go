// Package sairedis carries the SAI API over ASIC_DB, as SONiC does: [Client] is libsairedis' side (orchagent), [Server]
// is syncd's. Both speak the redis_sync protocol byte for byte, so that each works with SONiC's counterpart. An [Agent]
// is a client that starts from the state that a former client left in ASIC_DB.
//
// A request passes through the server as follows. [Server] dequeues it from ASIC_DB and sends the answer, a processor
// executes it, and views bring the ASIC from one view to another. Below them are separate packages: asicview compares
// views and implements the transitions between them, flex polls counters, objectids maps virtual to real ids, and
// protocol defines the words of ASIC_DB. Each of these packages uses only those named after it. A [Notifier] works in
// the other direction, from the ASIC to ASIC_DB, and uses only objectids.
//
// This package contains clients, the server, and the format that both use in ASIC_DB. It contains neither the meaning
// of a SAI object for a feature, nor a backend.
package sairedis

import "errors"

// ErrShutdown is returned by [Server.Serve] when a message on the channel RESTARTQUERY asks it to stop.
var ErrShutdown = errors.New("asked to shut down")
