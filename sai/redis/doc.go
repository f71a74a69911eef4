// Package sairedis carries the SAI API over ASIC_DB, as SONiC does: [Client] is
// libsairedis' side (orchagent), [Server] is syncd's. Both speak the redis_sync
// protocol byte for byte, so that each works with SONiC's counterpart. An [Agent] is a client that
// begins with what a former one left in ASIC_DB.
//
// A request goes one way through the server: [Server] takes it from ASIC_DB and sends the answer; a
// processor executes it; views bring the ASIC from one view to another. Below them are packages of
// their own: asicview compares views and has the transitions between them; flex polls the counters
// that were asked for; objectids knows each object by its virtual and its real id; protocol has the
// words of ASIC_DB. Each knows only those after it. A [Notifier] goes the other way, from the ASIC to
// ASIC_DB, and needs objectids alone.
//
// What may enter: clients, the server, and what both write into ASIC_DB. What may not: what any SAI object
// means to a feature, and any backend.
package sairedis

import "errors"

// ErrShutdown is what [Server.Serve] returns when it was asked to stop through
// the channel RESTARTQUERY.
var ErrShutdown = errors.New("asked to shut down")
