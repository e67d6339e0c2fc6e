// Package drift finds methods whose cost changes over weeks without a deployment that explains it, from one Day per
// method, caller and UTC day.
//
//  1. Replay evaluates a History once for each day on which it has enough data (evaluateNeeded).
//  2. Each evaluation (evaluate) standardises the methods by caller (series) and weekday (removeWeekdays), leaves out
//     temporary dips (leaveOutDips), subtracts the part that all methods share (findCommon), and tests each method for a
//     trend and for a step (test). detect controls the rate of false findings and returns a Finding for each change.
//  3. confirmed joins the findings of consecutive evaluations into drifts (addFinding).
//  4. The Result has the drifts and the status of every method.
//
// ReadCSV reads a History from a file.
//
// Its invariant: it reads no warehouse and no clock; the same series give the same findings.
//
// It does not search for causes: package pairs compares deployments.
package drift
