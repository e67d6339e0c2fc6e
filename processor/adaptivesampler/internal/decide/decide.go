// Package decide turns what was seen of methods into the rates they should
// have. It has no clock, no goroutine and no collector in it: the processor
// calls Step once per control interval, and so does the simulation.
//
// tiers.go and budget.go are the strategies, one algorithm each. Both stand on
// the same book of methods (book.go), which learns, forgets and is kept across
// restarts, and both let the method file, the scorecard and a comparison of two
// versions have their say in the same way.
//
// Its invariant: a rate is made of what earlier intervals showed, never of the
// calls it will decide about, and means and spreads are weighted by 1/q.
package decide

import (
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
)

// OverflowMethod is the method, without class, of the key that stands for all
// methods of a group that found no place: here, or in the processor before.
const OverflowMethod = "(overflow)"

// Group is the processes that share rates: one version of one service.
type Group struct {
	Namespace, Service, Environment, Version string
}

// Key names a method of a group.
type Key struct {
	Group
	Class, Method, Signature string
}

// Overflow is the key of the group's methods that found no place.
func (g Group) Overflow() Key { return Key{Group: g, Method: OverflowMethod} }

func (k Key) isOverflow() bool { return k.Method == OverflowMethod && k.Class == "" }

// Sums are weighted moments of one quantity over records: each record counts
// 1/q times, q the probability it was kept with.
type Sums struct {
	Records float64 // plain number of records
	Weight  float64 // sum of 1/q
	Sum     float64 // sum of x/q, ns
	Squares float64 // sum of x²/q
}

// Seen is what arrived of one method during one control interval.
type Seen struct {
	Key  Key
	Rule *methodfile.Rule // the entry of the method file, or the file's defaults; nil = none

	Calls   float64 // exact for our SDK, the sum of 1/p for others
	Foreign bool    // of another SDK: calls are estimates, only a rate can be served
	Wall    Sums
	CPU     Sums    // of the records whose CPU was timed
	Entry   float64 // weight of the records called from outside, `(entry)`
	Called  float64 // weight of the records whose caller is known, (entry) included
	Arrived float64 // p of the last record, 0 = none: the rate in force in the SDK
	Asked   float64 // records that the rates in force keep, before any limit cuts them

	// For the scorecard, of the quantity it meters.
	Above   float64 // weight of the records at or above the inclusive threshold
	Callees float64 // sum of x/q over the records of other methods whose caller is this one, ns
}

// Decision is what one method should do from now on, and what is known of it.
type Decision struct {
	Key    Key
	Mode   methodfile.Mode
	P      float64
	CPUP   float64 // 0 = as the SDK has it
	Tier   string
	Class  string // entry, mid or inner; "" = not learned
	Score  string // of the scorecard; "" = not scored
	Reason string // a short sentence of a fixed few: it is a metric label's source

	// For explanations.
	State          rates.State
	CallsPerSecond float64
	EntryShare     float64 // NaN = no caller is known
	Mean           float64 // ns, 0 = not known
	Spread         float64 // sd / mean, as the decision used it
	SpreadOf       string  // cpu or wall
	SpreadRecords  float64 // how many records the spread is made of, older ones count less
}

// Stats are the book's own figures, for metrics.
type Stats struct {
	Methods    int     // in the book
	Capacity   int     // max_methods
	Overflowed int64   // methods of single intervals that were folded into `(overflow)`, since the start
	Forgotten  int64   // methods taken out of the book, since the start
	Boosted    int     // services that compare two versions now
	Planned    float64 // records per second that the rates in force should bring, as of the last step
	Off        int     // methods that the scorecard has switched off
	Short      int     // budgets that pins and floors alone would overdraw
}

// Strategy decides rates. One algorithm, one file. It is not safe for concurrent
// use.
type Strategy interface {
	// Step takes what was seen since the last step and returns what should hold
	// now, for every method it knows. The result is valid until the next call.
	Step(now time.Time, seen []Seen) []Decision

	// Unknown is what a method of the group should do that Step names no decision
	// for: one never seen, or one without a place in the book.
	Unknown(Group) Decision

	// Rules makes all known methods follow another method file. It must be called
	// after Restore, too: the state holds no rules.
	Rules(of func(Key) *methodfile.Rule)

	// Stats are the figures of the last step.
	Stats() Stats

	// Snapshot is the state, of bounded size. Restore puts such a state in the
	// place of what is there, or returns an error and changes nothing.
	Snapshot() []byte
	Restore([]byte) error
}
