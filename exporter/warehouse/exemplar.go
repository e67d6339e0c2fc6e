package warehouse

import (
	"hash/fnv"

	"github.com/corehour/corehour/internal/methodspan"
)

// Values of ids.
const (
	// IDsAll keeps the ids of all real traces and requests.
	IDsAll = "all"
	// IDsExemplar keeps those of failed calls, of the tail, and of a share of the rest.
	IDsExemplar = "exemplar"
	// IDsNone keeps none.
	IDsNone = "none"
)

// exemplarShare is the share of traces whose ids are kept whatever happened.
const exemplarShare = 0.02

// forgetIDs leaves the ids of traces and requests out of rows, as `ids` says.
func forgetIDs(rows []methodspan.Row, keep string) {
	if keep == IDsAll {
		return
	}
	for i := range rows {
		r := &rows[i]
		if keep == IDsExemplar && (r.Errors > 0 || r.Stratum == methodspan.StratumTail || chosen(r)) {
			continue
		}
		r.TraceID, r.SpanID, r.ParentSpanID, r.RequestID = [16]byte{}, [8]byte{}, [8]byte{}, ""
	}
}

// chosen picks whole traces, the same ones in every collector.
func chosen(r *methodspan.Row) bool {
	h := fnv.New64a()
	if r.TraceID != [16]byte{} {
		_, _ = h.Write(r.TraceID[:]) // never fails
	} else {
		_, _ = h.Write([]byte(r.RequestID))
	}
	return float64(uint32(h.Sum64())) < exemplarShare*(1<<32) // the lower bits are mixed best
}
