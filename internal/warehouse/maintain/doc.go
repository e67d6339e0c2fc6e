// Package maintain does the maintenance of a warehouse: it merges small files, rolls up old dates, removes
// ids from old rows, and drops dates that exceed the policy's age or disk limits. It can also delete a
// service's rows or rename the service. For large dates it keeps pre-aggregated rollups in addition to the
// rows, which make queries over whole dates faster.
//
// Invariant: every step is one commit (table.Maintainer). A reader sees either rows or their rollup, never
// both and never neither. After an interruption the next run continues from the last commit. No step
// changes a total: calls stay exact, estimates are equal up to rounding.
//
// Decisions depend on the dates of rows, never on those of files. The package keeps no state of its own
// outside the warehouse.
package maintain
