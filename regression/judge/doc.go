// Package judge says which methods a deployment made dearer, from sums that a
// query delivers: one row per method, caller, instance and slot.
//
// Its invariant: it reads no warehouse and no clock; the same cells give the same
// verdicts.
package judge
