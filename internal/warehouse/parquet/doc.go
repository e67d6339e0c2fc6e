// Package parquet is the files of a warehouse: it writes rows into them, reads, merges and
// verifies them.
//
//	Encoder           rows in any order become a file, sorted
//	Encoder.Stream    rows in order become a file as large as it gets; Stream.Merge copies columns
//	ExchangeEncoder   files for other programs
//	Run, ReadContent  rows of several files in order; all of one file
//	VerifiedFiles     which files were compared with their checksums
//
// Its invariant: rows come out as they went in, and of a damaged file an error, in little
// memory.
//
// It does not know which files count (internal/warehouse/table does).
package parquet
