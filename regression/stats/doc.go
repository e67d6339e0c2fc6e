// Package stats holds the estimators and tests, one idea a file: means and totals
// with standard errors that come from clusters, intervals of skew costs, ratios of
// means, e-values and their control over many methods, what groups differ by, trends
// and steps of series and their dates.
//
// Its invariant: no function treats records as independent; what is not known
// is said by ok = false, never by a number. Reasons to believe a figure less are
// values that travel with it.
//
// It does not read a warehouse and does not decide what is a regression.
package stats
