package mgmt

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/configfile"
	"tamtam/mgmt/fetch"
	"tamtam/mgmt/models"
	"tamtam/mgmt/models/aft"
	"tamtam/mgmt/models/hft"
	"tamtam/mgmt/set"
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// sources returns the functions that make rows of tables that are in no database.
func (s *Server) sources() map[string]fetch.Source {
	all := map[string]fetch.Source{
		models.SourceRepresented: s.representedRows, models.SourceTables: s.tableRows, models.SourceTallies: s.tallied,
		models.SourceConfigurations: s.kept.keptRows, models.SourceChanges: s.kept.changedRows,
		models.SourceDebugCounts: s.reader.DebugRows, models.SourceDropAlerts: s.reader.DropAlerts,
		models.SourceNotInForce: s.reader.NotInForceRows,
		aft.SourceSummary:       s.aftSummaries, models.SourcePoliced: s.policed,
		hft.SourceCounts: s.recordCounts, hft.SourceValues: s.recordValues,
	}
	for _, table := range []string{models.HostFacts, models.HostState, models.HostProcesses, models.HostMounts,
		models.HostCPUs} {
		all[table] = func(context.Context, string) (map[string]map[string]string, error) {
			if s.cfg.Host == nil {
				return nil, nil
			}
			return s.cfg.Host(table), nil
		}
	}
	return all
}

// representedRows returns, for each row of CONFIG_DB, whether other nodes of the tree represent it.
func (s *Server) representedRows(ctx context.Context, _ string) (map[string]map[string]string, error) {
	rows, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	return set.Reported(ctx, s.model, s.reader, rows)
}

// tableRows returns the tables of CONFIG_DB with their number of rows.
func (s *Server) tableRows(ctx context.Context, _ string) (map[string]map[string]string, error) {
	db := s.reader.Redis.DB(swss.ConfigDB)
	keys, err := db.Client().Keys(ctx, "*").Result()
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	n := map[string]int{}
	for _, k := range keys {
		if table, _, found := strings.Cut(k, db.Separator()); found {
			n[table]++
		}
	}
	out := map[string]map[string]string{}
	for table, rows := range n {
		out[table] = map[string]string{"rows": strconv.Itoa(rows)}
	}
	return out, nil
}

// keptRows returns the notes of saved configurations.
func (s *archiver) keptRows(context.Context, string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Keep == "" {
		return out, nil
	}
	names, notes, err := s.keptNames()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n := notes[name]
		out[name] = map[string]string{
			"time": n.Time.Format(time.RFC3339Nano), "user": n.User, "kind": n.Kind, "comment": n.Comment,
		}
		if name == startupName {
			continue // its rows are not counted
		}
		out[name]["rows"] = strconv.Itoa(n.Rows)
		if t := s.onTrial.Load(); t != nil && t.Back == n.Seq {
			out[name]["unconfirmed-until"] = t.Until.UTC().Format(time.RFC3339Nano)
		}
	}
	return out, nil
}

// changedRows returns the differences between the running configuration and the saved one called name, or all saved
// ones if name is a wildcard.
func (s *archiver) changedRows(ctx context.Context, name string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Keep == "" {
		return out, nil
	}
	names := []string{name}
	if name == tree.Wildcard {
		var err error
		if names, _, err = s.keptNames(); err != nil {
			return nil, err
		}
	}
	running, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, rows, err := s.configuration(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, d := range configfile.Diff(rows, running) {
			row := map[string]string{"kind": d.Kind}
			if len(d.Was) > 0 {
				row["was"] = strings.Join(d.Was, "\x00")
			}
			if len(d.Is) > 0 {
				row["is"] = strings.Join(d.Is, "\x00")
			}
			out[name+"|"+d.Table+"|"+d.Key] = row
		}
	}
	return out, nil
}
