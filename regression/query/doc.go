// Package query is the SQL of corehour: it opens a warehouse, defines the views
// method_calls and method_cost over it, and runs the statements in sql/*.sql,
// each behind a method that returns plain Go rows.
//
// Its invariant: there is one definition of what a row weighs
// (internal/weights/weights.sql), and every figure that any command prints comes from
// it. Names found in a warehouse reach SQL only as parameters.
//
// It does not decide anything: no estimates, no verdicts, no formatting.
package query
