package warehouse

import "github.com/corehour/corehour/internal/methodspan"

// Values of ids.
const (
	// IDsAll keeps the ids of all real traces and requests.
	IDsAll = "all"
	// IDsExemplar keeps the ids of failed calls, of the tail sample, and of a share of the other calls.
	IDsExemplar = "exemplar"
	// IDsNone keeps none.
	IDsNone = "none"
)

// exemplarShare is the share of traces that always keep their ids.
const exemplarShare = 0.02

// forgetIDs removes the ids of traces and requests from rows, as `ids` configures.
func forgetIDs(rows []methodspan.Row, keep string) {
	if keep == IDsAll {
		return
	}
	for i := range rows {
		r := &rows[i]
		if r.TraceID == [16]byte{} && r.SpanID == [8]byte{} && r.ParentSpanID == [8]byte{} && r.RequestID == "" {
			continue
		}
		if keep == IDsExemplar && (r.Errors > 0 || r.Stratum == methodspan.StratumTail || keepsIDs(r)) {
			continue
		}
		r.TraceID, r.SpanID, r.ParentSpanID, r.RequestID = [16]byte{}, [8]byte{}, [8]byte{}, ""
	}
}

// keepsIDs reports whether a row keeps its ids. It picks whole traces, the same ones in
// every collector, by the 64-bit FNV-1a of the trace id.
func keepsIDs(r *methodspan.Row) bool {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	if r.TraceID != [16]byte{} {
		for _, b := range r.TraceID {
			h = (h ^ uint64(b)) * prime
		}
	} else {
		for i := range len(r.RequestID) {
			h = (h ^ uint64(r.RequestID[i])) * prime
		}
	}
	return float64(uint32(h)) < exemplarShare*(1<<32) // the lower bits are mixed best
}
