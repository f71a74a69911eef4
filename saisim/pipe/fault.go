package pipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Fault breaks the pipes as a bug in a compiler would: the program's text is unchanged, but its behaviour is not.
// Faults stay until they are healed, even if another program is loaded. A fault that does not fit a program has no
// effect on it.
type Fault struct {
	// Do is skip, misplace or heal. With skip, the table never runs. With misplace, it runs if the gate of Into holds,
	// instead of its own. heal has no tables, and removes all faults.
	Do string `json:"do"`
	// Table is ingress.NAME or egress.NAME. Names that begin with "chip." are fixed functions, which the chip handles.
	Table string `json:"table,omitempty"`
	// Into is another table of the same pipe, for misplace. The tables that its gate refers to must be before Table.
	Into string `json:"into,omitempty"`
}

// maxFaults is the maximum number of faults at the same time.
const maxFaults = 64

// fixedFunction is the prefix of the names of the chip's own tables.
const fixedFunction = "chip."

// addFaults returns the faults with more added. These must fit the program, nil if there is none.
func addFaults(p *Program, faults, more []Fault) ([]Fault, error) {
	faults = slices.Clone(faults)
	for i, f := range more {
		if f.Do == "heal" {
			if f != (Fault{Do: "heal"}) {
				return nil, fmt.Errorf("fault %d: heal has a table, want none: all faults are healed", i)
			}
			faults = faults[:0]
			continue
		}
		err := f.check(p)
		switch {
		case err == nil && slices.ContainsFunc(faults, func(x Fault) bool { return x.Table == f.Table }):
			err = fmt.Errorf("%s has a fault already, want it healed first", f.Table)
		case err == nil && len(faults) == maxFaults:
			err = fmt.Errorf("there are %d faults already, want at most that", maxFaults)
		}
		if err != nil {
			return nil, fmt.Errorf("fault %d: %w", i, err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// check returns an error if the fault does not fit a program.
func (f *Fault) check(p *Program) error {
	switch {
	case f.Do != "skip" && f.Do != "misplace":
		return fmt.Errorf("do is %.80q, want skip, misplace or heal", f.Do)
	case f.Do == "skip" && f.Into != "":
		return errors.New("into is given, which is for misplace")
	case strings.HasPrefix(f.Table, fixedFunction) && f.Do == "skip":
		return nil
	case p == nil:
		return fmt.Errorf("%.80q: there is no program", f.Table)
	}
	pp, i, err := p.tableAt(f.Table)
	if err != nil || f.Do == "skip" {
		return err
	}
	into, j, err := p.tableAt(f.Into)
	switch {
	case err != nil:
		return fmt.Errorf("into: %w", err)
	case into != pp || i == j:
		return fmt.Errorf("into is %.80q, want another table of the pipe of %s", f.Into, f.Table)
	}
	return f.gateOpens(pp, i, j)
}

// gateOpens checks that the tables to which the gate of Tables[into] refers are before Tables[i].
func (f *Fault) gateOpens(p *Pipe, i, into int) error {
	for _, row := range p.Tables[into].Gate {
		for _, x := range row {
			if x.Table != "" && !p.before(x.Table, i) {
				return fmt.Errorf("the gate of %s asks for table %q, which does not come before %s", f.Into, x.Table, f.Table)
			}
		}
	}
	return nil
}

// tableAt returns a table by PIPE.NAME.
func (p *Program) tableAt(name string) (*Pipe, int, error) {
	pipeName, table, _ := strings.Cut(name, ".")
	return p.table(pipeName, table)
}

// before reports whether the named table precedes Tables[i]. The table must exist.
func (p *Pipe) before(name string, i int) bool {
	j := slices.IndexFunc(p.Tables, func(t Table) bool { return t.Name == name })
	return p.Tables[j].Stage < p.Tables[i].Stage || p.Tables[j].Stage == p.Tables[i].Stage && j < i
}

// broken returns the program with the effects of faults.
func (p *Program) broken(faults []Fault) *Program {
	n := *p
	for _, f := range faults {
		if strings.HasPrefix(f.Table, fixedFunction) || f.check(p) != nil {
			continue
		}
		pp, i, _ := p.tableAt(f.Table)
		to := &n.Ingress
		if pp == &p.Egress {
			to = &n.Egress
		}
		if &to.Tables[0] == &pp.Tables[0] {
			to.Tables = slices.Clone(to.Tables)
		}
		if f.Do == "skip" {
			to.Tables[i].Gate = [][]Term{{{Field: "is.ip", Is: "gt", Value: 1}}} // never true
		} else {
			_, j, _ := p.tableAt(f.Into)
			to.Tables[i].Gate = pp.Tables[j].Gate
		}
	}
	return &n
}
