// Command duckread prints DuckDB's result of a query, as a line of JSON for each row. DuckDB can read Parquet files
// directly, so the query may be SELECT * FROM 'store/hops/*.parquet'. It is in a separate module, since DuckDB adds 60
// megabytes of C++.
package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "duckread: %d arguments: want one, a query\n", len(os.Args)-1)
		os.Exit(2)
	}
	if err := show(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "duckread: %v\n", err)
		os.Exit(1)
	}
}

func show(query string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT CAST(to_json(answer) AS VARCHAR) FROM (" + query + ") AS answer")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		fmt.Println(line)
	}
	return rows.Err()
}
