// Package report renders one page about a warehouse: the cost of methods, the changes by deployment, the
// distribution and history of a method's calls, the call tree, and whether the figures can be trusted.
//
//  1. Gather fills a Report: addCosts copies the costs of package cost, compare the alerts and verdicts of package
//     pairs, addMethods reads the details of some methods, trees unfolds the calls, ledger.Check accounts for the calls.
//  2. Report.Document prints it as tables, Report.WriteHTML as a page with charts. JSON is the Report itself.
//
// Rows of changes are verdicts (pairs.Row), and rows of alerts are alerts: the report adds no figures to them.
//
// Its invariant: the page is self-contained (no network, no script), and every figure on it comes with its
// window, instances and records.
//
// It does not judge: costs, comparisons and the accounting check come from their packages.
package report
