// Package cost ranks methods by what their own code costs.
//
// Its invariant: the self costs of a service and its unattributed rest add up to
// the CPU time of its processes; what is not known (no CPU measured, no price, no
// process rows) is null, never zero.
//
// It does not compare versions; inclusive costs nest and are never added up.
package cost
