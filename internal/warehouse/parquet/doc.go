// Package parquet writes, reads, merges and verifies the Parquet files of a warehouse.
//
//	Encoder           rows in any order become a file, sorted
//	Encoder.Stream    rows in order become a file as large as it gets; Stream.Merge copies columns
//	ExchangeEncoder   files for other programs
//	Run, ReadContent  rows of several files in order; all of one file
//	VerifiedFiles     which files were compared with their checksums
//
// Invariant: rows are read back exactly as they were written, and a damaged file gives an error.
// Both hold with bounded memory.
//
// The package does not know which files belong to the warehouse; internal/warehouse/table does.
package parquet
