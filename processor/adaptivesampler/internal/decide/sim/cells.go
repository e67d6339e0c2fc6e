package sim

// estimateCell holds the calls and records of a stretch of time, from which a total is estimated.
type estimateCell struct {
	calls   float64
	weights float64 // sum of 1/q
	squares float64 // sum of 1/q²
	sum     float64 // sum of x/q
	lost    [3]float64
}

// addRecord adds a record; lost are the sums of w(w-1), times x and x², that the
// variance is made of.
func (c *estimateCell) addRecord(x, w float64) {
	c.weights += w
	c.squares += w * w
	c.sum += x * w
	for i, f := range [...]float64{1, x, x * x} {
		c.lost[i] += w * (w - 1) * f
	}
}

func (c *estimateCell) join(other estimateCell) {
	c.calls += other.calls
	c.weights += other.weights
	c.squares += other.squares
	c.sum += other.sum
	for i := range c.lost {
		c.lost[i] += other.lost[i]
	}
}

// enough reports whether a cell has the 20 effective records that a weight cell of its own needs.
func (c *estimateCell) enough() bool {
	const least = 20
	return c.calls == 0 || c.squares > 0 && c.weights*c.weights/c.squares >= least
}

// total returns the estimated time of all calls, and its variance.
func (c *estimateCell) total() (total, variance float64) {
	if c.weights == 0 {
		return 0, 0
	}
	mean, scale := c.sum/c.weights, c.calls/c.weights
	residuals := c.lost[2] - 2*mean*c.lost[1] + mean*mean*c.lost[0]
	return c.calls * mean, scale * scale * residuals
}

// totalOf adds up nested cells: the minutes of an hour if each has records
// enough, else the hour if each hour has, else all of it.
func totalOf(minutes []estimateCell) (total, variance float64) {
	const hour = 60
	var whole estimateCell
	hours := true
	for begin := 0; begin < len(minutes); begin += hour {
		joined, alone := joinAll(minutes[begin:min(begin+hour, len(minutes))])
		whole.join(joined)
		hours = hours && (alone || joined.enough())
	}
	if !hours {
		return whole.total()
	}
	for begin := 0; begin < len(minutes); begin += hour {
		part := minutes[begin:min(begin+hour, len(minutes))]
		joined, alone := joinAll(part)
		if !alone {
			part = []estimateCell{joined}
		}
		for _, c := range part {
			t, v := c.total()
			total += t
			variance += v
		}
	}
	return total, variance
}

// joinAll adds cells up and reports whether each could stand alone.
func joinAll(cells []estimateCell) (joined estimateCell, alone bool) {
	alone = true
	for _, c := range cells {
		joined.join(c)
		alone = alone && c.enough()
	}
	return joined, alone
}
