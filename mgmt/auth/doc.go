// Package auth authenticates callers. It has users, roles, certificates and passwords, listeners and their TLS, and the
// audit trail. Doors bound unauthenticated connections, and each source has places for its requests. What belongs here:
// decisions about a caller before a request is read. It depends on no database and no model.
package auth
