// Package report renders one page about a warehouse: the cost of methods, the changes by deployment, the
// distribution and history of a method's calls, the call tree, and whether the figures can be trusted.
//
// Its invariant: the page is self-contained (no network, no script), and every figure on it comes with its
// window, instances and records.
//
// It does not judge: costs, comparisons and the accounting check come from their packages.
package report
