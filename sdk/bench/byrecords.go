package main

import (
	"math"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// byRecords measures what a request costs by how many of its calls were timed. Requests
// with and without a record and those of a service whose probes are off lie within
// milliseconds of each other, and each has a time of its own: the medians tell the cost
// of one record to half a microsecond on a machine so busy that throughputs tell nothing.
func byRecords(report *figures.Run, who string, slices int) {
	var off, counted, one []float64
	for range slices {
		for range requestsInSlice {
			before := timedCalls()
			lasted := request(probesOn)
			switch timedCalls() - before {
			case 0:
				counted = append(counted, lasted)
			case 1:
				one = append(one, lasted)
			}
		}
		for range requestsInSlice {
			timedCalls() // leaves the caches as above
			off = append(off, request(probesOff))
		}
	}
	more(report, who+": a request whose calls are counted, more than off", counted, off)
	more(report, who+": a request with one record, more than that", one, counted)
}

// more reports by how much the median of some times is above that of others.
func more(report *figures.Run, what string, these, others []float64) {
	if len(these) == 0 || len(others) == 0 {
		return // by chance, in a short run
	}
	a, within := medianWithin(these)
	b, alsoWithin := medianWithin(others)
	report.Add(what, a-b, "us", figures.Lower, nil)
	report.Add(what+", 95% interval +-", math.Hypot(within, alsoWithin), "us", figures.Lower, nil)
}

// request returns how many us one takes.
func request(s *service) float64 {
	begin := time.Now()
	s.serve()
	return float64(time.Since(begin)) / 1e3
}

// timedCalls returns how many calls were timed since Start.
func timedCalls() int64 {
	s := corehour.Stats()
	return s.Recorded + s.Dropped
}
