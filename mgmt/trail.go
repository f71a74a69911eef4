package mgmt

import (
	"log/slog"
)

// AlsoAudit has a further handler get the audit trail, beside Config.Audit. It is called before Serve.
func (s *Server) AlsoAudit(h slog.Handler) { s.guard.Trail.Also(h) }
