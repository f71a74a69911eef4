// Command arrowread prints Parquet files as Arrow's Go library reads them, as a line of JSON for each row. It is in a
// separate module, since that library takes a minute and a half to compile.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := show(path); err != nil {
			fmt.Fprintf(os.Stderr, "arrowread: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func show(path string) error {
	opened, err := file.OpenParquetFile(path, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	reader, err := pqarrow.NewFileReader(opened, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	table, err := reader.ReadTable(context.Background())
	if err != nil {
		return err
	}
	defer table.Release()
	chunks := array.NewTableReader(table, 0)
	defer chunks.Release()
	for chunks.Next() {
		if err := array.RecordToJSON(chunks.RecordBatch(), os.Stdout); err != nil {
			return err
		}
	}
	return chunks.Err()
}
