// Package auth authenticates callers. It has users, roles, certificates and passwords, listeners and their TLS, doors
// that bound unauthenticated connections, places for the requests of each source, and the audit trail. What belongs
// here: decisions about a caller before a request is read. It depends on no database and no model.
package auth
