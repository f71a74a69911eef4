// Package kit holds the parts of which package models makes its tables: codecs of fields, and access to rows of
// CONFIG_DB during a Set. What belongs here is used by several packages of tables.
package kit
