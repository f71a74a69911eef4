// Package rows makes of a lab that has run what the page shows: the topology with what was counted on it, what each
// switch says of its configuration, and rows.
//
// The rows are what the collector makes of the captures of the lab's hosts when the run is over: of tail-stamps, copies
// of records and reports of drops, as it does elsewhere. Alternate marking is as the study joined it,
// sketches as the switches answer. To all that the lab adds what it alone knows, the truth.
//
// What belongs here: from a lab to rows. Not: how rows are shown.
package rows
