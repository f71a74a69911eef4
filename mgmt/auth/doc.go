// Package auth authenticates callers. It has users, roles, certificates and passwords, listeners and their TLS, and the
// audit trail. A [Door] bounds unauthenticated connections. The number of requests per source is bounded too. What
// belongs here: decisions about a caller before a request is read. It depends on no database and no model.
package auth
