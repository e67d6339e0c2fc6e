// Package warehouse is what the stores of rows have in common: their interface, their errors and
// reasons, and the Intake, which decides for each of them what is new and what is refused.
//
//	table     one directory: its manifest, commits, recovery, maintenance
//	parquet   the files in it: reading, writing, merging, verifying
//	bucket    directories in an object store
//	bigquery  a table of BigQuery
//	maintain  which files of a directory are merged, rolled up and dropped, and when
//
// Its invariant: an item whose id is remembered is never stored again, whatever stores it.
//
// It stores nothing itself and imports none of the stores.
package warehouse
