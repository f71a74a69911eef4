// Command tables prints the reference of tables in docs/reference/databases.md, a part for each database. It also
// prints the reasons for lost frames for pages and YANG. It generates the parts of YANG and of the shell that repeat
// package schema.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"tamtam/swss/schema"
)

func main() {
	part := ""
	if len(os.Args) > 1 {
		part = os.Args[1]
	}
	switch tables := schema.Tables(); part {
	case "config":
		fields(os.Stdout, "|", "must be given", tables, func(t schema.Table) string { return t.Config })
	case "appl":
		applied(os.Stdout, tables)
	case "state":
		state(os.Stdout, tables)
	case "counters":
		fields(os.Stdout, ":", "always there", tables, func(t schema.Table) string { return t.Counters })
	case "losses":
		reasons(os.Stdout, lossReasons())
	case "drops":
		reasons(os.Stdout, dropReasons())
	case "countable":
		countable(os.Stdout)
	case "yang":
		module(os.Stdout)
	case "sonic":
		sonicModule(os.Stdout, tables)
	case "regions":
		if err := writeRegions(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "cli":
		shell(os.Stdout)
	default:
		fmt.Fprintln(os.Stderr, "usage: tables config | appl | state | counters | losses | drops | countable |\n"+
			"\tyang | sonic | cli | regions FOLDER")
		os.Exit(2)
	}
}

// writeRegions regenerates the parts of the folders' modules that repeat package schema.
func writeRegions(folders []string) error {
	for _, folder := range folders {
		made, err := rewrite(folder)
		if err != nil {
			return err
		}
		for file, text := range made {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields prints the tables of a database with their fields. Tables with the same fields are printed together.
func fields(w io.Writer, separator, must string, tables []schema.Table, name func(schema.Table) string) {
	fmt.Fprint(w, "| table, key | field | holds | default | |\n| --- | --- | --- | --- | --- |\n")
	done := map[string]bool{}
	for _, t := range tables {
		if name(t) == "" || done[t.Words] {
			continue
		}
		done[t.Words] = true
		var alike []string
		for _, o := range tables {
			if o.Words == t.Words {
				alike = append(alike, title(name(o), separator, o.Key))
			}
		}
		fmt.Fprintf(w, "| **%s** | | | | %s |\n", cell(strings.Join(alike, "**, **")), cell(t.Words))
		rows(w, t.Fields, must)
		if len(t.Idle) > 0 {
			fmt.Fprintf(w, "| | (without effect) | | | %s. |\n", cell(strings.Join(t.WithoutEffect(), ", ")))
		}
	}
}

// applied prints the tables of APPL_DB: the tables from which their rows are made, and their fields if these differ.
func applied(w io.Writer, tables []schema.Table) {
	fmt.Fprint(w, "| table, key | field | holds | default | |\n| --- | --- | --- | --- | --- |\n")
	done := map[string]bool{}
	for _, t := range tables {
		if t.Appl == "" || done[t.Appl] {
			continue
		}
		done[t.Appl] = true
		words := t.Words
		if t.Applied == nil {
			words = "As in CONFIG_DB."
		}
		key := strings.Replace(t.Key, "|", ":", 1)
		fmt.Fprintf(w, "| **%s** | | | | %s |\n", cell(title(t.Appl, ":", key)), cell(words))
		rows(w, t.Applied, "always there")
	}
}

// state prints the tables of STATE_DB: those with the status of rows of CONFIG_DB, and the others with their fields.
func state(w io.Writer, tables []schema.Table) {
	fmt.Fprint(w, "| table | of the rows of | status in | in force | unknown |\n| --- | --- | --- | --- | --- |\n")
	of := map[string][]string{}
	for _, t := range tables {
		if n := len(of[t.State]); t.Status != "" && (n == 0 || of[t.State][n-1] != "`"+t.Rows()+"`") {
			of[t.State] = append(of[t.State], "`"+t.Rows()+"`")
		}
	}
	for _, t := range schema.StatusTables() {
		good := "`" + t.Good + "`"
		if t.Off != "" {
			good += "; `" + t.Off + "` as configured"
		}
		fmt.Fprintf(w, "| `%s` | %s | `%s` | %s | `%s` |\n",
			t.State, strings.Join(of[t.State], ", "), t.Status, good, t.Unknown)
	}
	for _, t := range tables {
		if t.State != "" && t.Status == "" {
			fmt.Fprintf(w, "| `%s` | | | %s | |\n", t.State, cell(t.Words))
		}
	}
}

func title(table, separator, key string) string {
	if key == "" {
		return table
	}
	return table + separator + key
}

// rows prints fields, one per row. must is printed for fields that every row has.
func rows(w io.Writer, list []schema.Field, must string) {
	for _, f := range list {
		def := ""
		switch {
		case f.Must:
			def = must
		case f.Default != "":
			def = "`" + f.Default + "`"
		}
		fmt.Fprintf(w, "| | `%s` | %s | %s | %s |\n", f.Name, cell(f.Form), def, cell(f.Words))
	}
}

// cell returns a text as it appears in a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
