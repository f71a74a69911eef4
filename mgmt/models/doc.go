// Package models maps the YANG modules to the databases, by a [tree.Module] each, which [All] lists. What belongs here:
// tables, the codecs that they use, functions that complete an entry, and the writing of OpenConfig's nodes through
// ours. A new feature adds a file, and its module to All.
package models
