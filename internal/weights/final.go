package weights

import (
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// weightless is the probability of a row without weight: its inverse is practically zero, and
// computing with it does not overflow.
const weightless = methodspan.MostP

// Final sets the probabilities of a raw row to its inverse weights: p becomes 1/w_wall and q
// becomes 1/w. Rows of different cells can then be added, and their weights do not change. A row
// without a weight keeps its times with a weight of practically zero. A weight is negative if the
// tail represents more calls than were counted; it stays negative.
//
// The weights do not include Weight's scale factors, because the scale is computed when rows are
// read. A row in the residual of the date keeps its probabilities, and its weight is computed when
// it is read: the residual has few records or none, and other directories may hold more of it.
//
// Final returns the reason of the rollup: the kinds of the cells for CPU and wall time.
func Final(r *methodspan.Row, w Weight) (cells string) {
	q, p := r.Q(), r.P
	w.W, w.Wall = w.W/w.scale, w.Wall/w.scaleWall
	if w.left {
		w.Cell, w.W, w.KnownW = CellRest, 1/q, q != 0
	}
	if w.leftWall {
		w.CellWall, w.Wall, w.KnownWall = CellRest, 1/p, p != 0
	}
	if r.Measured > 0 {
		r.P = inverse(w.Wall, w.KnownWall)
		r.CPUP = 0
		if r.CPUMeasured > 0 {
			r.CPUP = inverse(w.W, w.KnownW) / r.P
		}
	}
	return w.Cell + "/" + w.CellWall
}

// inRest reports whether a rollup is in the residual of its date, for CPU and for wall time.
func inRest(r *methodspan.Row) (cpu, wall bool) {
	if r.Level == methodspan.LevelRaw || r.Kind == methodspan.KindProcess {
		return false, false
	}
	of, ofWall, _ := strings.Cut(r.Reason, "/")
	return of == CellRest, ofWall == CellRest
}

func inverse(w float64, known bool) float64 {
	if p := 1 / w; known && w != 0 && p < weightless && p > -weightless {
		return p
	}
	return weightless
}
