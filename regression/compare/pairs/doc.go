// Package pairs compares the two newest versions of a service and makes alerts of the methods that regressed.
//
//  1. Deployments finds the deployments of each version of a service; Choose picks base and head.
//  2. A Rule compares each pair. EvidenceRule reads the weighted sums (assembleAll), subtracts the cost of probes
//     (subtractProbes) and evaluates them with package evidence (judgeAllOf). Where processes are few, history learns
//     the differences between processes from earlier deployments.
//  3. ThresholdRule compares the weighted mean per call of each method instead (measure, threshold).
//  4. Comparison.alertOf makes the alert of a regressed verdict, for both rules. Comparison.Rows adds the versions to all
//     verdicts, for tables.
//
// ThresholdRule raises a method if its change is above the threshold, both versions have enough records, and the lower
// end of the 95% interval is above zero. The interval comes from clusters (instance and time bucket), never from records
// as if they were independent. It tests self time: the time of a method less that of its callees. A caller gets more
// expensive with its callees, so a test of inclusive time would raise every method on the path. Where the self time is
// too uncertain (standard error above 30%, for a method that mostly calls others), the inclusive time is tested, the
// growth of the self time must be significant as an absolute difference, and regressed callees must not explain 80% of
// the growth. The alert of a callee names the callers that it made more expensive.
//
// Its invariant: base and head follow from time, and from the spelling of versions only where no time orders them.
//
// ThresholdRule does not control the number of false alarms over many methods and evaluations, and does not separate a
// change of traffic from a change of code.
package pairs
