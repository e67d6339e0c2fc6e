// Package stats holds the estimators: means and totals with standard errors that
// come from clusters, and the interval of a ratio of two means.
//
// Its invariant: no function treats records as independent; what is not known
// is said by ok = false, never by a number.
//
// It does not read a warehouse and does not decide what is a regression.
package stats
