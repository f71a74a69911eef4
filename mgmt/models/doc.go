// Package models says what the modules of YANG are in the databases, a [tree.Module] each, which [All] lists. What
// belongs here: tables, the codecs that they are made of, what completes an entry, and where OpenConfig's places are
// written. A new feature adds a file, and its module to All.
package models
