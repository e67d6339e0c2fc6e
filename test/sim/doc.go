// Package sim draws deployments and months of data with a known truth, and counts how often a detection
// method is wrong.
//
// Its invariant: a seed gives the same draws on every machine and with any number of workers.
//
// It draws no spans and no rows, only the sums that a query would return: a deployment of the model has about
// 1e8 records. Cells of few requests are drawn record by record. The sums of larger cells are drawn from a
// normal distribution with the exact means, variances and covariances (draw.go). Winsorised sums and sums of
// logarithms of more than 32 requests are close to normal. Records of a Pareto tail are always drawn singly.
package sim
