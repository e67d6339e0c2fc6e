package evidence

import "math"

// leastCallsChange is the smallest change of calls per call that is raised. A loop
// that asks once per item at least doubles them; small changes are data.
const leastCallsChange = 0.10

// callsPrior is what processes are assumed to differ by in calls per call.
const callsPrior = 0.02

// pair is a caller and a method it calls, as indices into Methods.
type pair struct{ caller, method int32 }

// compareCalls asks of every pair of methods how many calls one call of the caller
// makes: a query in a loop raises no method's cost per call. Calls of the caller
// take the place of records' weights and calls of the method that of their cost;
// the rest is as for costs. Calls are those of timed calls, with or without CPU: the
// weights of CPU times let other processes stand for one that times none, each method
// over stretches of its own. The pairs are a family of hypotheses of their own.
func compareCalls(x *index, o Options) ([]compared, error) {
	d := &Deployment{
		Callers: []string{""}, Instances: x.d.Instances, Overlap: x.d.Overlap, ByAge: x.d.ByAge,
		Begin: x.d.Begin, Bucket: x.d.Bucket, Buckets: x.d.Buckets,
		// A slow host makes no more calls.
		Spreads: Spreads{Hosts: Spread{1e-8, hostsPriorDF}, Processes: Spread{callsPrior * callsPrior, betweenPriorDF}},
	}
	callers := d.addPairs(x)
	if len(callers) == 0 {
		return nil, nil
	}
	y, err := newIndex(d, o)
	if err != nil {
		return nil, err
	}
	copy(y.warm, x.warm)
	y.processBuckets = x.processBuckets
	pairs := compare(y, newStandard(y), nil)
	for i := range pairs {
		pairs[i].decide, pairs[i].tails = []statistic{cost}, nil
		pairs[i].caller, pairs[i].verdict.Caller = callers[i], callers[i]
	}
	processSpreads := learnProcessSpreads(y, hostEffects{}, pairs)
	processSpreads.hosts = Spread{} // a slow host makes no more calls
	for i := range pairs {
		if pairs[i].estimate(processSpreads, o, o.Inflation); pairs[i].verdict.State == NotProven {
			pairs[i].inferAlone("", processSpreads, o)
		}
	}
	return pairs, nil
}

// addPairs makes a method of each pair of a caller and what it calls, whose cost is how often the
// caller calls it, and returns the pairs' callers.
func (d *Deployment) addPairs(x *index) (callers []string) {
	type key struct{ instance, bucket int32 }
	calls := map[int32]map[key][2]float64{} // of a method: calls, records
	position := map[string]int32{}
	for m, name := range x.d.Methods {
		position[name] = int32(m)
	}
	callerMethod := make([]int32, len(x.d.Callers))
	for i, name := range x.d.Callers {
		callerMethod[i] = -1
		if m, ok := position[name]; ok {
			callerMethod[i] = m
			calls[m] = map[key][2]float64{}
		}
	}
	if len(calls) == 0 { // no caller was measured itself
		return nil
	}
	for i := range x.cells {
		c := &x.cells[i]
		if own := calls[c.Method]; own != nil && c.made() && x.shown(c) {
			k := key{c.Instance, c.Bucket}
			own[k] = [2]float64{own[k][0] + c.Calls, own[k][1] + c.Timed}
		}
	}
	number := map[pair]int32{}
	for i := range x.cells {
		c := &x.cells[i]
		caller := callerMethod[c.Caller]
		if caller < 0 || caller == c.Method || !c.made() || !x.shown(c) {
			continue
		}
		of := calls[caller][key{c.Instance, c.Bucket}]
		if !(of[0] > 0) {
			continue // the caller's own calls were not measured here
		}
		p := pair{caller, c.Method}
		n, ok := number[p]
		if !ok {
			n = int32(len(d.Methods))
			number[p] = n
			d.Methods = append(d.Methods, x.d.Methods[c.Method])
			callers = append(callers, x.d.Methods[caller])
		}
		d.Cells = append(d.Cells, Cell{
			Method: n, Instance: c.Instance, Bucket: c.Bucket,
			Records: math.Min(c.Timed, of[1]), Weight: of[0], Sum: c.Calls, Capped: c.Calls, Log: of[0] * math.Log(c.Calls/of[0]),
		})
	}
	return callers
}

// made reports whether calls are known to have been made.
func (c *Cell) made() bool { return c.Calls > 0 && c.Timed > 0 }

// describeCalls turns what was compared as a cost into words about calls.
func describeCalls(v *outcome) {
	v.Mix, v.ExcessPerDay = 0, 0
	v.Reason = callsReason(v)
}
