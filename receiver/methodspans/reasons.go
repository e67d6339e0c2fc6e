package methodspans

import (
	"context"
	"fmt"
	"math"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/partialsuccess"
)

// faultReason is the kind of a fault.
type faultReason uint8

const (
	timeInvalid           faultReason = iota // start or end absent, or beyond 2262
	timeReversed                             // end before start
	timeInFuture                             // end after the collector's clock, beyond the tolerance
	wallExceedsAge                           // longer than the process has lived
	nameAbsent                               // no name of a method
	textTooLong                              // a name, caller, signature, request id or group beyond max_name_length
	notUTF8                                  // a text that is not valid UTF-8
	pInvalid                                 // corehour.p absent or outside (0, 1]
	cpuPInvalid                              // corehour.cpu.p outside (0, 1], or absent next to a CPU time
	cpuTimeInvalid                           // CPU time negative or not a whole number
	waitsInvalid                             // waits negative or not a whole number
	cpuExceedsWall                           // more CPU than wall time, beyond the tolerance
	cpuStateMismatch                         // cpu.state contradicts cpu.time, or is unknown
	stratumInvalid                           // an unknown stratum
	basisInvalid                             // an unknown weight basis
	measuredAbsent                           // an aggregate of no measurements
	measuredImpossible                       // more measurements than possible in the interval
	sumInvalid                               // an aggregate's sum absent, negative or not a whole number
	maximumInvalid                           // an aggregate's maximum contradicts its sum
	squaresInvalid                           // an aggregate's squares contradict its sum
	histogramInvalid                         // bins out of range, of another length than their counts, or not adding up
	errorsInvalid                            // more errors than measurements, or fewer than none
	countsAbsent                             // a counts span without counts
	countsLength                             // the arrays of methods and calls differ in length
	countsEntryInvalid                       // calls negative, not a whole number, or from 2^53 on
	processValueInvalid                      // impossible cores, rss, final or SDK counter
	totalInvalid                             // a total of calls negative, not a whole number, or from 2^53 on
	priceUntrusted                           // a price set by the sender
	attributeDuplicate                       // one attribute twice
	attributeMisplaced                       // a quantity that spans of this kind do not have
	valueInvalid                             // another attribute of the wrong type, NaN or infinite
	kindUnknown                              // an unknown corehour.kind
	traceStateInvalid                        // a trace state that cannot be parsed
	thresholdInconsistent                    // th above the span's randomness: it cannot have been kept
	thresholdThinned                         // another sampler thinned spans of the corehour SDK
	identityIncomplete                       // a batch number without instance and process start
	batchConflict                            // a batch number that came earlier with other content
	batchUnnumbered                          // counts, or spans of a client that counts, without a batch number
	reasonCount
)

var reasonNames = [reasonCount]string{
	timeInvalid:           "time_invalid",
	timeReversed:          "time_reversed",
	timeInFuture:          "time_in_future",
	wallExceedsAge:        "wall_exceeds_age",
	nameAbsent:            "name_absent",
	textTooLong:           "text_too_long",
	notUTF8:               "not_utf8",
	pInvalid:              "p_invalid",
	cpuPInvalid:           "cpu_p_invalid",
	cpuTimeInvalid:        "cpu_time_invalid",
	waitsInvalid:          "waits_invalid",
	cpuExceedsWall:        "cpu_exceeds_wall",
	cpuStateMismatch:      "cpu_state_mismatch",
	stratumInvalid:        "stratum_invalid",
	basisInvalid:          "basis_invalid",
	measuredAbsent:        "measured_absent",
	measuredImpossible:    "measured_impossible",
	sumInvalid:            "sum_invalid",
	maximumInvalid:        "maximum_invalid",
	squaresInvalid:        "squares_invalid",
	histogramInvalid:      "histogram_invalid",
	errorsInvalid:         "errors_invalid",
	countsAbsent:          "counts_absent",
	countsLength:          "counts_length",
	countsEntryInvalid:    "counts_entry_invalid",
	processValueInvalid:   "process_value_invalid",
	totalInvalid:          "total_invalid",
	priceUntrusted:        "price_untrusted",
	attributeDuplicate:    "attribute_duplicate",
	attributeMisplaced:    "attribute_misplaced",
	valueInvalid:          "value_invalid",
	kindUnknown:           "kind_unknown",
	traceStateInvalid:     "trace_state_invalid",
	thresholdInconsistent: "threshold_inconsistent",
	thresholdThinned:      "threshold_thinned",
	identityIncomplete:    "identity_incomplete",
	batchConflict:         "batch_conflict",
	batchUnnumbered:       "batch_unnumbered",
}

// faultOutcome is the receiver's treatment of the faulty part.
type faultOutcome uint8

const (
	corrected faultOutcome = iota // the faulty part was removed or replaced, the rest stays
	dropped                       // a measurement or one entry of counts was removed
	passed                        // it was passed on unchanged
	outcomeCount
)

var outcomeNames = [outcomeCount]string{"corrected", "dropped", "passed"}

// kind is the classification of a span.
type kind uint8

const (
	kindCall kind = iota
	kindCounts
	kindAggregate
	kindProcess
	kindForeign // a method span of another SDK
	kindOther   // no method span
	kindCount
)

var kindNames = [kindCount]string{"call", "counts", "aggregate", "process", "foreign", "other"}

// boundedTable is one of the bounded tables.
type boundedTable uint8

const (
	tableMethods boundedTable = iota
	tableCallers
	tableServices
	tableInstances // processes whose batch numbers are remembered
	tableBatches   // size: numbers in flight; overflow: numbers older than the window
	tableTraces    // traces of the last seconds
	tableUnpolled  // processes that sample with another rate than the served one
	tableCount
)

var tableNames = [tableCount]string{"methods", "callers", "services", "instances", "batches", "traces", "unpolled"}

// basis is the source of the probability of a span of another SDK.
type basis uint8

const (
	unknown basis = iota
	threshold
	inherited
	legacy
	served
	estimated
	configured
	assumed
	basisCount
)

var basisNames = [basisCount]string{
	threshold:  methodspan.BasisThreshold,
	inherited:  methodspan.BasisInherited,
	legacy:     methodspan.BasisLegacy,
	served:     methodspan.BasisServed,
	estimated:  methodspan.BasisEstimated,
	configured: methodspan.BasisConfigured,
	assumed:    methodspan.BasisAssumed,
}

// requestCounts counts the events of one request in plain memory. They are recorded once per
// request, since one update of a metric costs more than a whole span.
type requestCounts struct {
	received   [kindCount]int64
	faults     [reasonCount][outcomeCount]int64
	overflow   [tableCount]int64
	bases      [basisCount]int64
	duplicates int64
	lostCalls  int64
}

func (t *requestCounts) fault(r faultReason, o faultOutcome) { t.faults[r][o]++ }

// reportDropped reports what was dropped to the sender.
func (t *requestCounts) reportDropped(ctx context.Context) {
	for r := range reasonCount {
		if n := t.faults[r][dropped]; n > 0 {
			partialsuccess.Add(ctx, n, fmt.Sprintf("%s: dropped %d", reasonNames[r], n))
		}
	}
}

func (t *requestCounts) loseCalls(n int64) {
	if t.lostCalls > math.MaxInt64-n {
		t.lostCalls = math.MaxInt64
		return
	}
	t.lostCalls += n
}
