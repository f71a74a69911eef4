// Command duckread prints DuckDB's result of a query, as a line of JSON for each row. DuckDB can read Parquet files
// directly, so the query may be SELECT * FROM 'store/hops/*.parquet'. It is in a separate module, since DuckDB adds 60
// megabytes of C++.
//
// With -measure it runs the query twice with two threads: first after it has dropped the kernel's cache of files, as
// far as it may. It prints the seconds of both runs and the peak of its memory in MB to standard error.
package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	measure := flag.Bool("measure", false, "run the query twice, and print seconds and memory")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "duckread: %d arguments: want one, a query\n", flag.NArg())
		os.Exit(2)
	}
	if err := show(flag.Arg(0), *measure); err != nil {
		fmt.Fprintf(os.Stderr, "duckread: %v\n", err)
		os.Exit(1)
	}
}

func show(query string, measure bool) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	var lines []string
	if !measure {
		lines, err = run(db, query)
	} else {
		lines, err = twice(db, query)
	}
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}

// twice runs a query without and with a cache.
func twice(db *sql.DB, query string) (lines []string, err error) {
	if _, err := db.Exec("SET threads = 2"); err != nil {
		return nil, err
	}
	if lines, err = run(db, "SELECT 1"); err != nil {
		return nil, err
	}
	cold := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0)
	var seconds [2]float64
	for i := range seconds {
		start := time.Now()
		if lines, err = run(db, query); err != nil {
			return nil, err
		}
		seconds[i] = time.Since(start).Seconds()
	}
	fmt.Fprintf(os.Stderr, "%.3f %.3f %d %v\n", seconds[0], seconds[1], peak(), cold == nil)
	return lines, nil
}

// peak returns the greatest size of the memory of this process, in MB.
func peak() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kb / 1000
}

func run(db *sql.DB, query string) (lines []string, err error) {
	rows, err := db.Query("SELECT CAST(to_json(answer) AS VARCHAR) FROM (" + query + ") AS answer")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}
