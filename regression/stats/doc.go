// Package stats contains estimators and tests, one topic per file: means and totals with clustered standard errors,
// intervals of skewed costs, ratios of means, e-values and their control over many methods, heterogeneity of groups,
// trends and steps of series and their dates.
//
// Its invariant: no function treats records as independent, and an unknown result is ok = false, never a number.
// Reasons to trust a figure less are returned with the figure.
//
// It does not read a warehouse and does not decide whether a change is a regression.
package stats
