// Package decide turns observations of methods into sampling rates. It has no
// clock, no goroutine and no collector in it: the processor calls Strategy.Step
// once per control interval, and so does the simulation (package sim).
//
// The path of a step: methodStore.learnInterval adds the observations to each
// method and ages older ones, methodStore.prepare applies the method file, the
// scorecard and the comparison of two versions, the strategy (tiers.go, budget.go)
// computes the rates, and method.setRate moves each towards its target.
// methodStore.report returns the decisions. The store is bounded, evicts idle
// methods, and is kept across restarts (state.go, restore.go).
//
// Its invariant: a rate is computed from earlier intervals, never from the calls that it will apply to, and
// means and coefficients of variation are weighted by 1/q.
//
// It does not sample: the processor and the SDKs apply the rates.
package decide

import (
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
)

// OverflowMethod is the method, without class, of the key for all methods of a group beyond the bound of this
// package or of the processor.
const OverflowMethod = "(overflow)"

// Group is a set of processes that share rates: one version of one service.
type Group struct {
	Namespace, Service, Environment, Version string
}

// Key names a method of a group.
type Key struct {
	Group
	Class, Method, Signature string
}

// Overflow returns the key of the group's methods beyond the bound.
func (g Group) Overflow() Key { return Key{Group: g, Method: OverflowMethod} }

func (k Key) isOverflow() bool { return k.Method == OverflowMethod && k.Class == "" }

// WeightedSums are weighted moments of one quantity over records: each record counts 1/q times, where q is its
// probability of being kept.
type WeightedSums struct {
	Records float64 // plain number of records
	Weight  float64 // sum of 1/q
	Sum     float64 // sum of x/q, ns
	Squares float64 // sum of x²/q
}

// Observation is the data of one method in one control interval.
type Observation struct {
	Key  Key
	Rule *methodfile.Rule // the entry of the method file, or the file's defaults; nil = none

	Calls   float64 // exact for our SDK, the sum of 1/p for others
	Foreign bool    // of another SDK: calls are estimates, only a rate can be served
	Wall    WeightedSums
	CPU     WeightedSums // of the records whose CPU was timed
	Entry   float64      // weight of the records called from outside, `(entry)`
	Called  float64      // weight of the records whose caller is known, (entry) included
	Arrived float64      // p of the last record, 0 = none: the rate in force in the SDK
	Asked   float64      // records that the rates in force keep, before any limit cuts them

	// Sums of x/q over the records of other methods whose caller is this one, ns.
	CalleeWall, CalleeCPU float64

	Above float64 // weight of the records at or above the scorecard's inclusive threshold
}

// Decision is the sampling of one method from now on, with its evidence.
type Decision struct {
	Key    Key
	Mode   methodfile.Mode
	P      float64
	CPUP   float64 // 0 = the SDK's own setting
	Tier   string
	Class  string // entry, mid or inner; "" = not learned
	Score  string // of the scorecard; "" = not scored
	Reason string // a short sentence of a small set, because it becomes a metric label
	Evidence
}

// Evidence is the strategy's knowledge of a method, for explanations.
type Evidence struct {
	State          rates.MethodState
	CallsPerSecond float64
	EntryShare     float64 // NaN = no caller is known
	Mean           float64 // ns, 0 = not known
	Spread         float64 // sd / mean, as the decision used it
	SpreadOf       string  // cpu or wall
	SpreadRecords  float64 // number of records behind the spread; older ones count less
}

// Stats are the store's own figures, for metrics.
type Stats struct {
	Methods          int     // in the store
	Overflowed       int64   // methods of single intervals that were aggregated into `(overflow)`, since the start
	Forgotten        int64   // methods removed from the store, since the start
	Boosted          int     // services that compare two versions now
	Planned          float64 // records per second that the rates in force should bring, as of the last step
	Off              int     // methods that the scorecard has switched off
	OverdrawnBudgets int     // budgets that pins and floors alone overdraw
}

// Strategy decides rates. Each algorithm has one file. It is not safe for concurrent use.
type Strategy interface {
	// Step learns the observations since the last step and returns the decisions for
	// all methods that are known. The result is valid until the next call.
	Step(now time.Time, seen []Observation) []Decision

	// Unknown returns the decision for methods of the group for which Step returns none: new ones, and
	// those beyond the bound.
	Unknown(Group) Decision

	// Rules applies another method file to all known methods. It must be called
	// after Restore, too: the state holds no rules.
	Rules(of func(Key) *methodfile.Rule)

	// Stats returns the figures of the last step.
	Stats() Stats

	// Snapshot returns the state, of bounded size. Restore replaces the state by a snapshot, or returns
	// an error and changes nothing.
	Snapshot() []byte
	Restore([]byte) error
}
