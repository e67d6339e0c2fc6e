// Package findings compares the newest version of every service with the one before and prints the result.
//
//  1. Evaluate chooses the pairs of versions, compares them by a rule of package pairs, and collects the alerts.
//  2. Findings.Deliver sorts out accepted and muted alerts and sends the others. Findings.resolved decides which open
//     alerts are resolved.
//  3. Findings.Document prints the verdicts and alerts as text, JSON, CSV or as a comment on a pull request.
//
// Its invariant: every figure comes from the rule; nothing is computed again. An open alert that the comparisons do
// not judge stays open.
//
// It does not resolve alerts of drifts and budgets: the packages that find them do.
package findings
