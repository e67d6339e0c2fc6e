// Package evaluation evaluates the daily history of services. It reads closed days from a warehouse or a series from
// a file, replays the evaluations of package drift, and creates alerts for confirmed drifts. It prints the findings
// as text and as rows for spreadsheets.
//
// Its invariant: the findings depend only on the closed days (UTC) and on the given time, so two evaluations of the
// same rows on one day are equal.
//
// It does not define a drift: package drift does.
package evaluation
