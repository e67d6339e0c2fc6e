// Package decide turns what was seen of methods into the rates they should
// have. It has no clock, no goroutine and no collector in it: the processor
// calls Step once per control interval, and so does the simulation.
package decide

import (
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// Group is the processes that share rates: one version of one service.
type Group struct {
	Namespace, Service, Environment, Version string
}

// Key names a method of a group.
type Key struct {
	Group
	Class, Method, Signature string
}

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
	Rule *methodfile.Rule // the entry of the method file, nil = none

	Calls   float64 // exact for our SDK, the sum of 1/p for others
	Foreign bool    // of another SDK: calls are estimates, only a rate can be served
	Wall    Sums
	CPU     Sums    // of the records whose CPU was timed
	Entry   float64 // share of the records without a caller that is on: 1/p weighted, with Called below
	Called  float64 // weight of the records whose caller is known, (entry) included
	Arrived float64 // p of the last record, 0 = none: the rate in force in the SDK
}

// Decision is what one method should do from now on.
type Decision struct {
	Key    Key
	Mode   methodfile.Mode
	P      float64
	CPUP   float64 // 0 = as the SDK has it
	Tier   string
	Class  string // entry, mid or inner; "" = not learned
	Score  string // of the scorecard
	Reason string // a short sentence, bounded in its variety: it is a metric label's source
}

// Strategy decides rates. One algorithm, one file.
type Strategy interface {
	// Step takes what was seen since the last step and returns what should hold
	// now, for every method it knows. It is not safe for concurrent use.
	Step(now time.Time, seen []Seen) []Decision
}
