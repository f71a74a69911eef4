// Package hftread prints streams of high-frequency telemetry: each record with the names of objects and statistics, and
// each event of a stream's cadence.
//
// What belongs here: the output, and files of raw messages. Formats are in tam/hft.
package hftread
