// Package evaluation evaluates the daily history of services.
//
//  1. Evaluate reads the closed days of each service from a warehouse (histories); EvaluateCSV reads series from a file.
//  2. Each serviceHistory replays the evaluations of package drift, and describe makes a Verdict for each method.
//  3. alerts makes an alert of each confirmed verdict, with its dollars and severity.
//  4. Evaluation.Deliver sends the alerts (package delivery); resolved decides on the open ones.
//  5. Evaluation.Document prints the verdicts as text or as rows for spreadsheets.
//
// Its invariant: the verdicts depend only on the closed days (UTC) and on the given time, so two evaluations of the
// same rows on one day are equal.
//
// It does not define a drift: package drift does.
package evaluation
