// Package report makes one page of what a warehouse knows: what methods cost,
// which deployment moved which, how a method's calls are spread and how it went
// over time, who calls whom, and whether the figures can be believed.
//
// Its invariant: the page needs nothing but itself (no network, no script), and
// every figure on it says the window, the instances and the records behind it.
//
// It does not judge: costs, comparisons and the ledger come from their packages.
package report
