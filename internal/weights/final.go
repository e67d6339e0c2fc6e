package weights

import (
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// weightless stands for a probability whose inverse is a weight of zero: 1/p is
// as good as nothing, and nothing overflows on the way.
const weightless = methodspan.MostP

// Final gives a raw row the probabilities that are its weights: p becomes 1/w_wall
// and q becomes 1/w, so that rows of different cells can be added and nothing is
// to be weighed afterwards. What has no weight keeps its times and counts for
// nothing; a weight below zero, where the tail stands for more calls than were
// counted, stays one.
//
// What rows stand for because of calls elsewhere is left out: that, too, is worked out when
// they are read.
//
// What is left of the date keeps its probabilities and is weighed when it is read: it has
// few records, or none, and other directories may hold more of it.
//
// cells is what the reason of the sum is to say, for CPU and wall time.
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

// inRest tells of which of its sides, CPU and wall time, a sum is in what is left of its date.
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
