// Package warehouse contains the common parts of the stores of rows: their interface, errors and refusal
// reasons, and the Intake, which decides for each store which items are new and which rows are refused.
//
//	table     one directory: its manifest, commits, recovery, maintenance
//	parquet   the files in it: reading, writing, merging, verifying
//	bucket    directories in an object store
//	bigquery  a table of BigQuery
//	maintain  which files of a directory are merged, rolled up and dropped, and when
//
// Invariant: no store stores an item again while its id is remembered.
//
// The package stores nothing itself and imports none of the stores.
package warehouse
