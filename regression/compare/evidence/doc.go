// Package evidence decides which methods a deployment made more expensive, from weighted sums: one Cell per method,
// caller, instance and time bucket. The formulas are in docs/background/statistics.md.
//
// EvaluateAll goes through these steps:
//
//  1. newIndex checks the cells and groups them by method; learnWarmUp leaves out the warm-up of instances.
//  2. withinVersions estimates the effects of hosts, which all methods of an instance share.
//  3. compare standardises each method by caller and time bucket and estimates its change and error.
//  4. compareCalls does the same for the calls of a method per call of a caller.
//  5. infer subtracts the part that all methods share and computes e-values; judgeService does so for the whole service.
//  6. raise applies e-BH; confirm and confirmLast require consecutive evaluations.
//  7. attribute and attributeService find changes that callees, callers or the whole service explain.
//  8. report makes a Verdict of each method, with the trace of its conditions.
//
// Its invariant: it reads no warehouse and no clock; the same cells give the same verdicts.
//
// It does not know prices, owners or the order of versions.
package evidence
