// Package cost computes the costs of services from stored rows and ranks methods by self cost.
//
// Its invariant: the self costs of a service and its unattributed rest add up to the CPU time of its processes. An
// unknown figure (no CPU measured, no price, no process rows) is null, never zero.
//
// It does not compare versions. Inclusive costs nest and are never added up.
package cost
