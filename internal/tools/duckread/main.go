// Command duckread prints what DuckDB answers to a query: for each row a line of JSON. DuckDB reads Parquet files by
// itself, so the query may be SELECT * FROM 'store/hops/*.parquet'. It stands in a module of its own, since it brings a
// database of 60 megabytes, in C++.
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
