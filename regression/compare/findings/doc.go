// Package comparison evaluates the deployments of all services: it compares the newest version of each with
// the one before by a rule of package verdict, and shows what it found as text, as a comment on a pull request
// and as rows for spreadsheets.
//
// Its invariant: what is shown was decided by the rule; nothing is computed again.
//
// It does not decide what a regression is, and it delivers through package delivery only.
package findings
