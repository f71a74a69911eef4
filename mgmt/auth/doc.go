// Package auth is who is let in, as whom, and by which way: users, roles, certificates and passwords, listeners and
// their TLS, doors that keep strangers few, places for the requests of each source, and the audit trail. What belongs
// here: what is decided of a caller before anything is asked. It knows no database and no model.
package auth
