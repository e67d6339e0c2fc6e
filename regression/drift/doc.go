// Package drift finds methods whose cost changes over weeks without a deployment that explains it, from one Day per
// method, caller and UTC day.
//
//  1. Replay evaluates a History once for each day on which it has enough data.
//  2. Each evaluation standardises the methods by caller and weekday, subtracts the part that all methods share, and
//     tests each method for a trend and for a step.
//  3. The Course lists the drifts that consecutive evaluations confirmed, and the status of every method.
//
// Its invariant: it reads no warehouse and no clock; the same series give the same findings.
//
// It does not search for causes: package pairs compares deployments.
package drift
