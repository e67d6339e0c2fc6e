// Package sqlanswer turns what an engine answers to a statement of the user's own into cells, JSON and Parquet.
//
// Its invariant: DuckDB and BigQuery answers of the same values look the same, and no value loses digits
// that the format can hold.
//
// It runs no statement: package query does.
package sqlanswer
