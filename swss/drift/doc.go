// Package drift keeps the books of a daemon that compares, in the background, what it believes with what is there.
//
// Each daemon compares what it alone knows. tammgrd: CONFIG_DB with the rows that it has taken, APPL_DB and STATE_DB
// with what it wants there. orchagent: APPL_DB with the rows that it has taken, ASIC_STATE with the objects that it has
// made. syncd: ASIC_STATE with the chip. Each comparison is a [Stage]; a [Watch] walks through the objects of the
// stages, few at a time, one whole pass after the other.
//
// A difference counts as drift when it was seen twice, a second apart, the same both times, and nothing was in flight.
// A row that has changed meanwhile differs in another way, so that it does not count. Drift is told and then healed, by
// the one whose word it is: who finds that somebody else's word has changed waits until that one has looked at
// everything since (Stage.After). So a row that somebody deletes in APPL_DB is written anew,
// and not taken off the chip.
//
// A daemon tells in the row of its name in the table [Table] of STATE_DB. It is ready when a whole pass of its life
// has ended and nothing differs.
//
// What belongs here: when a difference counts, whom it waits for, how often, and how it is told. No row's meaning.
package drift
