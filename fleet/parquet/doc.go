// Package parquet keeps the rows of the collector as Parquet files, one per batch and kind of row, which pandas, DuckDB
// and others can read: hops/*.parquet, drops/*.parquet and so on (rows.go has the columns).
//
// Each folder has a file none.parquet, with the same columns and without rows, so that there always is one to read.
//
// A batch is named by its partition and its first message. First its files are written to a separate folder and synced.
// Then a marker file of that name is linked, which succeeds once. Then the files are renamed. So a batch that is made
// twice is kept once, however late the second arrives and whenever a process ends. Only the last marker of each
// partition stays. So the position of a partition is never lost, while files are removed by age and size, the oldest
// first.
//
// What belongs here: result.Store as files. Not: the meaning of rows.
package parquet
