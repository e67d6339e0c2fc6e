// Package explain gathers everything that is known about one method: its versions and how they are sampled,
// its cost, the verdict on its newest version, its drift, and the accepted, muted and sent alerts. It can also
// query the sampler of a running collector.
//
// Its invariant: it shows the results and traces of the packages that decide, and computes none itself.
//
// It raises and delivers no alerts.
package explain
