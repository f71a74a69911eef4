// Package p4 reads P4 programs that p4c compiled for BMv2 with the v1model architecture, and describes them as a
// [Program]: headers, parser, pipelines, actions and the objects that they use. Names are resolved to pointers, and
// every expression has a type, so that whatever runs a program needs no checks of its own.
//
// [Read] accepts files without a version and versions 2.0 to 2.24. An error names the file, the object, the value and,
// where the file has it, the line of the P4 source. What a program uses and this package does not support is an error
// when the file is read, never a packet that is handled wrongly. docs/reference/p4.md lists what is supported.
//
// What belongs here: the file format and the meaning of its names. What does not: entries, packets and time.
package p4
