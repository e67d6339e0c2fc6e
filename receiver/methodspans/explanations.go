package methodspans

import (
	"strconv"

	"github.com/corehour/corehour/internal/methodspan"
)

// explanations holds the places of each fault, the most likely first, and the description of
// a valid value. Faults whose places depend on the span have no places here.
var explanations = [reasonCount]struct {
	places []string
	wanted string
}{
	timeInvalid:    {[]string{placeStart, placeEnd}, "nanoseconds since 1970, above 0 and before 2262"},
	timeReversed:   {[]string{placeEnd}, ""},
	timeInFuture:   {[]string{placeEnd}, ""},
	wallExceedsAge: {[]string{placeStart, methodspan.AttrWallSum}, "not before the process started (process.creation.time), and not 7 days before the end where that is not given"},
	nameAbsent:     {[]string{methodspan.AttrFunction}, "the full name of a function, such as com.shop.Card.charge"},
	notUTF8:        {nil, "UTF-8"},
	pInvalid:       {[]string{methodspan.AttrP}, "a number above 0 and at most 1: the probability that the call was timed"},
	cpuPInvalid:    {[]string{methodspan.AttrCPUP}, "a number above 0 and at most 1: the probability that the CPU of a timed call was timed"},
	cpuTimeInvalid: {[]string{methodspan.AttrCPUTime, methodspan.AttrCPUSum, methodspan.AttrCPUMeasured},
		"a whole number of ns from 0 on, of no more calls than were measured"},
	waitsInvalid:   {[]string{methodspan.AttrCPUWaits}, "a whole number from 0 on: how often the calls gave up the processor while their CPU was timed"},
	cpuExceedsWall: {[]string{methodspan.AttrCPUTime, methodspan.AttrCPUSum}, ""},
	cpuStateMismatch: {[]string{methodspan.AttrCPUState, methodspan.AttrCPUTime},
		"exact with a CPU time, or not_sampled, untrusted or unavailable without one"},
	stratumInvalid:     {[]string{methodspan.AttrStratum}, "tail, or absent"},
	basisInvalid:       {[]string{methodspan.AttrWeightBasis}, "absent: the receiver writes it"},
	measuredAbsent:     {[]string{methodspan.AttrMeasured}, "a whole number above 0: how many calls were measured"},
	measuredImpossible: {[]string{methodspan.AttrMeasured}, "no more calls than a machine can make in the interval"},
	sumInvalid:         {[]string{methodspan.AttrWallSum}, "a whole number of ns from 0 on"},
	maximumInvalid:     {[]string{methodspan.AttrWallMax, methodspan.AttrCPUMax}, "at least the mean and at most the sum"},
	squaresInvalid:     {[]string{methodspan.AttrWallSquares, methodspan.AttrCPUSquares}, "the sum of the squares of what adds up to the sum"},
	histogramInvalid: {[]string{methodspan.AttrWallBins, methodspan.AttrWallCounts, methodspan.AttrCPUBins, methodspan.AttrCPUCounts},
		"as many counts as bins, bins from 0 to " + strconv.Itoa(int(methodspan.MaxBin)) + ", counts that add up to the number measured"},
	errorsInvalid:      {[]string{methodspan.AttrErrors}, "from 0 to the number measured"},
	countsAbsent:       {[]string{methodspan.AttrCountsCalls}, "an array of whole numbers"},
	countsLength:       {[]string{methodspan.AttrCountsMethods}, "an array of as many names as there are calls"},
	countsEntryInvalid: {[]string{methodspan.AttrCountsCalls, methodspan.AttrCalls}, "whole numbers from 0 on, below 2^53"},
	processValueInvalid: {[]string{methodspan.AttrProcessCores, methodspan.AttrHostCores, methodspan.AttrProcessLimit, methodspan.AttrProcessRSS, methodspan.AttrProcessFinal},
		"cores above 0 and at most 65536, bytes from 0 on, a boolean, a finite number"},
	totalInvalid:          {[]string{methodspan.AttrCallsTotal}, "a whole number from 0 on, below 2^53: the calls of all counts sent so far"},
	priceUntrusted:        {[]string{methodspan.AttrPrice, methodspan.AttrPriceSource}, "absent: the collector puts prices in"},
	attributeDuplicate:    {nil, "once"},
	kindUnknown:           {[]string{methodspan.AttrKind}, "call, counts, aggregate or process, or absent on ordinary spans"},
	traceStateInvalid:     {[]string{placeTraceState}, "a W3C trace state, such as ot=th:c;rv:e0000000000000"},
	thresholdInconsistent: {[]string{placeTraceState}, "a threshold th not above rv, or without rv not above the last 14 digits of the trace id"},
	thresholdThinned:      {[]string{placeTraceState}, "a threshold th that says the same as " + methodspan.AttrP},
	identityIncomplete:    {[]string{methodspan.ResourceInstance}, "an id of the process and the time of its start (RFC 3339), so that repeats are recognised"},
	batchConflict:         {[]string{methodspan.AttrBatchSeq}, "a number for each request of a process, and " + methodspan.AttrProcessID + ", random, where two may have one instance and start"},
	batchUnnumbered:       {[]string{methodspan.AttrBatchSeq}, "1, 2, 3 ... for the requests of a process; a resend keeps its number"},
}
