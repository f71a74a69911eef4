// Package parquet keeps what the collector says as Parquet files, one of each batch and kind of row, which pandas,
// DuckDB and others read as they are: hops/*.parquet, drops/*.parquet and so on (rows.go has the columns).
//
// Each folder has a file none.parquet, of the same columns and without rows, so that there always is one to read.
//
// A batch is named by its partition and its first message. Its files are written beside the others and synced; then a
// mark of that name is linked, which succeeds once; then the files are renamed. So a batch that is made twice is kept
// once, however late the second comes and in whatever moment a process dies. Of the marks only each partition's last
// stays: the position of a partition is never forgotten, while files go by age and size, the oldest first.
//
// What belongs here: result.Store as files. Not: what rows mean.
package parquet
