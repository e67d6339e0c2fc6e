// Package evaluation evaluates the daily history of services: it reads closed days from a warehouse or a
// series from a file, replays the evaluations of package drift, makes alerts of what they confirm, and shows what
// it found as text and as rows for spreadsheets.
//
// Its invariant: what it finds follows from the closed days (UTC) and the time that it is given, so two
// evaluations of the same rows on one day find the same.
//
// It does not decide what a drift is: package drift does.
package evaluation
