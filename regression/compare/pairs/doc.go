// Package verdict says which deployment made which method more expensive.
//
// There are two rules. EvidenceRule asks package judge, and is described in
// docs/background/statistics.md. ThresholdRule compares the weighted mean per call of a method in the
// new version with that in the version before. A method is raised if the change is above the
// threshold, both sides have enough records, and the lower end of the 95% interval of the
// change is above zero. The interval comes from clusters (instance and bucket of time), never
// from records as if they were independent.
//
// What it tests is the method's own time: its time less that of the calls whose
// caller it is. A caller gets more expensive with its callees, so testing whole times
// would raise every method on the path; testing own times raises the one that
// changed. Where the own time is too uncertain to be a base (standard error above
// 30%: a method that mostly calls others), the whole time is tested instead, the
// growth of the own time must be proven as an absolute difference, and callees
// that are raised must not explain 80% of the growth. Callers that became more expensive
// for no reason but their callees are named in the callee's alert.
//
// Its invariant: which version came before is decided by time, and by the spelling of
// versions only where nothing says which began first.
//
// ThresholdRule does not control how many false alarms many methods and many evaluations add
// up to, and does not separate a change of traffic from a change of code.
package pairs
