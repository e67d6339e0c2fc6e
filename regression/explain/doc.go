// Package explain puts together what is known of one method: its versions and how they are sampled, its cost,
// the verdict on its newest version, its drift, and what was accepted, muted and sent. It can ask the sampler
// of a running collector, too.
//
// Its invariant: it shows the answers and the traces of the packages that decide, and computes none again.
//
// It raises nothing and delivers nothing.
package explain
