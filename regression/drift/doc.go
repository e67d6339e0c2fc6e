// Package drift finds methods whose cost changes over weeks, without a deployment
// that one could name, from one row per method, caller and day.
//
// Its invariant: it reads no warehouse and no clock; the same series give the same
// findings.
//
// It does not say why: a step that coincides with a deployment is package judge's.
package drift
