package parquet

import "github.com/corehour/corehour/internal/methodspan"

// isPlain reports whether a row has none of what few rows have, as most measured
// calls and counts do. Its columns get all such rows at once.
func isPlain(r *methodspan.Row) bool {
	return len(r.Signature)+len(r.Stack)+len(r.Stratum)+len(r.RequestID)+len(r.WallHist)+len(r.CPUHist) == 0 &&
		r.Process == nil &&
		hasNoSpread(r.Measured, r.WallNS, r.WallSq, r.WallMaxNS) && hasNoSpread(r.CPUMeasured, r.CPUNS, r.CPUSq, r.CPUMaxNS)
}

// hasNoSpread reports whether squares and maximum say nothing that the sum does not.
func hasNoSpread(measured, sum int64, squares float64, maximum int64) bool {
	return measured <= 0 || squares == 0 && methodspan.MaximumFollows(measured, sum, maximum)
}

// noteAbsent tells the columns that few rows have of the plain rows before.
func (t *table) noteAbsent() {
	n := t.plain
	if n == 0 {
		return
	}
	t.plain = 0
	for _, c := range [...]*stringColumn{&t.signature, &t.stack, &t.stratum, &t.requestID} {
		c.addNulls(n)
	}
	for _, c := range [...]*sparseColumn{&t.wall.squares, &t.cpu.squares, &t.cores, &t.hostCores, &t.cpuLimit, &t.rss, &t.callsTotal, &t.final} {
		c.rows.addSame(null, n)
	}
	for _, c := range [...]*timeColumn{&t.wall.max, &t.cpu.max} {
		c.n, c.nulls = c.n+n, c.nulls+n
	}
	for _, c := range [...]*listColumn{&t.wall.bins, &t.wall.counts, &t.cpu.bins, &t.cpu.counts, &t.statNames, &t.statValues} {
		c.n += n
	}
}

// addRare adds what few rows have, of a row that has some of it.
func (t *table) addRare(r *methodspan.Row) {
	t.signature.addName(r.Signature)
	t.stack.addName(r.Stack)
	t.stratum.addName(r.Stratum)
	t.requestID.addName(r.RequestID)
	t.wall.addSpread(r.Measured, r.WallNS, r.WallSq, r.WallMaxNS, r.WallHist)
	t.cpu.addSpread(r.CPUMeasured, r.CPUNS, r.CPUSq, r.CPUMaxNS, r.CPUHist)
	t.addProcess(r.Process)
}

// addSpread decides which columns in addition to the sum of one measured quantity are known:
// nothing where nothing was measured; no squares and no maximum that follow from the
// sum, where there was one value.
func (q *quantityColumns) addSpread(measured, sum int64, squares float64, maximum int64, hist methodspan.Histogram) {
	q.addHistogram(hist)
	if measured <= 0 {
		q.squares.addNull()
		q.max.addNull()
		return
	}
	if measured == 1 && squares == 0 {
		q.squares.addNull()
	} else {
		q.squares.addDouble(squares)
	}
	if methodspan.MaximumFollows(measured, sum, maximum) {
		q.max.addNull()
	} else {
		q.max.appendTime(maximum)
	}
}

func (q *quantityColumns) addHistogram(hist methodspan.Histogram) {
	if len(hist) == 0 {
		q.bins.none()
		q.counts.none()
		return
	}
	q.bins.begin(len(hist))
	q.counts.begin(len(hist))
	for _, b := range hist {
		q.bins.addInt(b.Bin)
		q.counts.addDouble(b.N)
	}
}

func (t *table) addProcess(p *methodspan.ProcessStats) {
	if p == nil {
		t.cores.addNull()
		t.hostCores.addNull()
		t.cpuLimit.addNull()
		t.rss.addNull()
		t.callsTotal.addNull()
		t.final.addNull()
		t.statNames.none()
		t.statValues.none()
		return
	}
	t.hostCores.addKnown(p.HostCores, p.HostCores > 0)
	t.cpuLimit.addKnown(p.CPULimit, p.CPULimit > 0)
	if p.Summed {
		t.cores.addKnown(p.Cores, p.Cores > 0)
		t.rss.addNull()
		t.callsTotal.addNull()
		t.final.addNull()
		t.statNames.none()
		t.statValues.none()
		return
	}
	t.cores.addDouble(p.Cores)
	t.rss.addLong(p.RSSBytes)
	if p.CallsTotal == methodspan.TotalNotGiven {
		t.callsTotal.addNull()
	} else {
		t.callsTotal.addLong(p.CallsTotal)
	}
	t.final.addBool(p.Final)
	if len(p.Stats) == 0 {
		t.statNames.none()
		t.statValues.none()
		return
	}
	t.statNames.begin(len(p.Stats))
	t.statValues.begin(len(p.Stats))
	for _, s := range p.Stats {
		t.statNames.addString(s.Name)
		t.statValues.addDouble(s.Value)
	}
}
