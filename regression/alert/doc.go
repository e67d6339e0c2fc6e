// Package alert defines alerts, their severity, and the grouping of alerts into messages.
//
//  1. Packages pairs (from an evidence.Verdict), drift/evaluation (from an evaluation.Verdict) and cost (from a budget)
//     make each Alert: ID names it, SeverityOf rates it, MarkAssumed notes calls with unknown sampling.
//  2. Package delivery routes alerts: rules adds owners and finds silences, state remembers what is open, accepted and
//     sent, sink sends.
//  3. Messages groups the alerts of one deployment for a sink; Levels and Lines describe an alert in words.
//
// Its invariant: an alert that is found again keeps its id, and a message that is sent again keeps its id, so
// receivers can drop duplicates.
//
// It raises and delivers nothing.
package alert
