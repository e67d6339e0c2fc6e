package main

import (
	"math"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// byRecords measures the cost of a request by the number of its timed calls. Requests with a record,
// without one, and of a service with its probes off run within milliseconds of each other, and each is timed
// alone. Their medians give the cost of one record within half a microsecond, even on a machine that is too
// busy to compare throughputs.
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

// more reports the difference between the medians of two sets of times.
func more(report *figures.Run, what string, these, others []float64) {
	if len(these) == 0 || len(others) == 0 {
		return // by chance, in a short run
	}
	a, within := medianWithin(these)
	b, alsoWithin := medianWithin(others)
	report.Add(what, a-b, "us", figures.Lower, nil)
	report.Add(what+", 95% interval +-", math.Hypot(within, alsoWithin), "us", figures.Lower, nil)
}

// request returns the time of one request in us.
func request(s *service) float64 {
	begin := time.Now()
	s.serve()
	return float64(time.Since(begin)) / 1e3
}

// timedCalls returns the number of timed calls since Start.
func timedCalls() int64 {
	s := corehour.Stats()
	return s.Recorded + s.Dropped
}
