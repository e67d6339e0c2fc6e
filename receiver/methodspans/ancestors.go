package methodspans

// maxDepth bounds the search for an ancestor, and ends cycles.
const maxDepth = 128

// learnTraces finds the sampling probabilities of the traces of a resource, and remembers
// those of roots for spans from other processes.
func (n *normalizer) learnTraces(p *requestPass) {
	f := &p.foreign
	s := &f.sampler
	instance := f.instance
	if s.server != nil && s.known {
		for i := range f.spans {
			root := f.spans[i].span
			if f.spans[i].p == 0 && root.ParentSpanID().IsEmpty() {
				if _, exceeded, _ := s.servedRate(root); exceeded {
					p.service.unpolled.exceeded(instance, root.StartTimestamp(), &p.requestCounts)
				}
			}
		}
	}
	for i := range f.spans {
		one := &f.spans[i]
		if one.p == 0 && one.span.ParentSpanID().IsEmpty() {
			rate, _, ok := s.servedRate(one.span)
			if since, late := p.service.unpolled[instance]; ok && !(late && one.span.StartTimestamp() <= since) {
				one.p, one.basis = rate, served
				f.known++
			}
		}
		one.trace = f.placeOf(i)
		switch of := &f.traces[one.trace]; {
		case one.p != 0 && one.span.ParentSpanID().IsEmpty():
			of.p = one.p
		case one.p != 0 && of.p <= 0:
			of.p = ofOthers
		}
	}
	now := n.now()
	n.traces.mu.Lock()
	defer n.traces.mu.Unlock()
	for i := range f.traces {
		of := &f.traces[i]
		known, isNew := n.traces.probability(of.id, max(of.p, 0), now, &p.requestCounts)
		if isNew && s.random && !f.stated {
			p.service.ratioAll.observe(of.id, now)
			if known == 0 && of.p == 0 {
				p.service.ratio.observe(of.id, now)
			}
		}
		of.p = known
	}
}

// placeOf returns the index of a span's trace, mostly that of the span before.
func (f *foreignScratch) placeOf(i int) int32 {
	id := f.spans[i].span.TraceID()
	if i > 0 && id == f.spans[i-1].span.TraceID() {
		return f.spans[i-1].trace
	}
	at, ok := f.traceAt[id]
	if !ok {
		at = int32(len(f.traces)) //nolint:gosec // a request has fewer spans
		f.traceAt[id] = at
		f.traces = append(f.traces, knownTrace{id: id})
	}
	return at
}

// ofOthers marks a trace whose root has no known probability but some other span has.
const ofOthers = -1

// estimateOf returns the sampling ratio estimated from the traces of the service, if there is
// an estimate. It uses traces whose root has no known probability; if these are few, as when
// children are sent before their root, it uses all traces.
func (n *normalizer) estimateOf(p *requestPass) (float64, bool) {
	if p.foreign.stated || !p.foreign.sampler.random {
		return 0, false
	}
	if unsaid := &p.service.ratio; unsaid.current.n+unsaid.previous.n >= leastTraces {
		return unsaid.ratio()
	}
	return p.service.ratioAll.ratio()
}

// probabilityOf returns the probability of a span and its basis: from its own trace state,
// from its nearest ancestor that has one, from the rate served to its root, or from its root
// in another request. The basis is unknown if there is none of them.
func (p *requestPass) probabilityOf(i int) (probability float64, basis basis) {
	f := &p.foreign
	at := &f.spans[i]
	if at.p != 0 {
		return at.p, at.basis
	}
	if f.known > 0 {
		for range maxDepth {
			next, ok := f.places[spanKey{at.span.TraceID(), at.span.ParentSpanID()}]
			if !ok {
				break
			}
			if at = &f.spans[next]; at.p != 0 {
				return at.p, below(at.basis)
			}
		}
	}
	if known := f.traces[at.trace].p; known != 0 {
		return known, inherited
	}
	return 0, unknown
}

// below returns the basis of a span from the basis of its ancestor. A served rate holds for
// the whole service.
func below(ancestor basis) basis {
	if ancestor == served {
		return served
	}
	return inherited
}
