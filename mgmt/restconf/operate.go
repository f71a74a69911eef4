package restconf

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tamtam/mgmt"
)

// operations returns the operation resources as members of their container (RFC 8040, section 3.3.2).
func operations() map[string]any {
	all := map[string]any{}
	for _, name := range mgmt.OperationNames() {
		all[name] = []any{nil}
	}
	return all
}

// operate performs an operation (RFC 8040, section 4.4.2). The body is its input. It may be missing if the operation
// needs none.
func (s *Server) operate(w http.ResponseWriter, r *http.Request, name string) *problem {
	if !slices.Contains(mgmt.OperationNames(), name) {
		return missing("there is no operation %q; there are %s", shown(name), strings.Join(mgmt.OperationNames(), ", "))
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		return notAllowed("an operation is asked for by POST")
	}
	if _, p := parameters(r.URL.RawQuery); p != nil {
		return p
	}
	var input []byte
	if r.ContentLength != 0 {
		member, value, p := body(w, r)
		if p != nil {
			return p
		}
		if module, _, _ := strings.Cut(name, ":"); member != module+":input" {
			return invalid("the body has %q, want %s:input", shown(member), module)
		}
		input = value
	}
	output, err := s.engine.Operate(r.Context(), name, input)
	if err != nil {
		return explain(s.root, err)
	}
	if output == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	module, _, _ := strings.Cut(name, ":")
	w.Header().Set("Content-Type", yangJSON)
	fmt.Fprintf(w, "{%q:%s}\n", module+":output", output)
	return nil
}
