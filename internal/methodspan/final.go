package methodspan

// weightless stands for a probability whose inverse is a weight of zero: 1/p is
// as good as nothing, and nothing overflows on the way.
const weightless = 1e300

// Final gives a row the probabilities that are its weights: p becomes 1/w_wall
// and q becomes 1/w, so that rows of different cells can be added and nothing is
// to be weighed afterwards. What has no weight keeps its times and counts for
// nothing; a weight below zero, where the tail stands for more calls than were
// counted, stays one.
func (r *Row) Final(w Weight) {
	if r.Measured <= 0 {
		return
	}
	r.P = inverse(w.Wall, w.KnownWall)
	r.CPUP = 0
	if r.CPUMeasured > 0 {
		r.CPUP = inverse(w.W, w.KnownW) / r.P
	}
}

func inverse(w float64, known bool) float64 {
	if p := 1 / w; known && w != 0 && p < weightless && p > -weightless {
		return p
	}
	return weightless
}
