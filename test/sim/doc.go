// Package sim draws deployments and months of which the truth is known, and counts
// how often a method of judging them is wrong.
//
// Its invariant: a seed gives the same draws on every machine and with any number
// of workers.
//
// It draws no spans and no rows, only the sums that a query would deliver: a
// deployment of the model has some 1e8 records. Cells of few requests are drawn
// record by record. The sums of the others are drawn from the normal distribution
// with the means, variances and covariances that such sums have (draw.go), which
// winsorised sums and sums of logarithms of more than 32 requests follow closely;
// records of a Pareto tail are always drawn one by one.
package sim
