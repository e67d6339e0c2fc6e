// Package sqlanswer converts the result of a user's SQL statement into cells, JSON and Parquet.
//
// Its invariant: equal values look the same from DuckDB and BigQuery, and no value loses digits that the format
// can hold.
//
// It runs no statements: package query does.
package sqlanswer
