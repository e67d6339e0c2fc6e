package methodspans

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// maxDepth bounds how far a root is looked for; it ends circles, too.
const maxDepth = 128

// findServer finds the extension that knows what stock SDKs were told.
func findServer(host component.Host, id component.ID) (rates.Server, error) {
	extension, ok := host.GetExtensions()[id]
	if !ok {
		return nil, fmt.Errorf("`served_rates`: there is no extension %q: define it under `extensions` and name it in `service::extensions`", id)
	}
	server, ok := extension.(rates.Server)
	if !ok {
		return nil, fmt.Errorf("`served_rates` must name an extension that serves rates, such as `sampling_rates`, found %q, which does not", id)
	}
	return server, nil
}

// servedScratch knows how the foreign spans of one resource hang together. All of
// a trace is kept or not by the rate of its root, so its root is what counts.
type servedScratch struct {
	server rates.Server // nil = not asked
	target rates.Target
	links  map[spanKey]link
}

// link is what has to be known of a span to find its root.
type link struct {
	name   string
	start  pcommon.Timestamp
	parent pcommon.SpanID
}

func linkOf(span ptrace.Span) link {
	return link{span.Name(), span.StartTimestamp(), span.ParentSpanID()}
}

func newServedScratch() servedScratch { return servedScratch{links: make(map[spanKey]link)} }

func (s *servedScratch) release() {
	s.server, s.target = nil, rates.Target{}
	clear(s.links)
}

func (s *servedScratch) begin(server rates.Server, resource pcommon.Resource) {
	text := func(names ...string) string {
		for _, name := range names {
			if v, ok := resource.Attributes().Get(name); ok {
				return v.AsString()
			}
		}
		return ""
	}
	s.server = server
	s.target = rates.Target{
		Namespace:   text(methodspan.ResourceServiceNamespace),
		Service:     text(methodspan.ResourceService),
		Environment: text(methodspan.ResourceEnvironment, methodspan.ResourceOldEnvironment),
		Version:     text(methodspan.ResourceVersion),
		Instance:    text(methodspan.ResourceInstance),
	}
}

// note takes every foreign span, for one that is no method span may be the root
// of some that are.
func (s *servedScratch) note(span ptrace.Span) {
	if s.server != nil && !span.SpanID().IsEmpty() {
		s.links[spanKey{span.TraceID(), span.SpanID()}] = linkOf(span)
	}
}

// rateOf is the rate that was served for the root of a span when it began. There
// is none if the root is not in the request: it may have begun in another process,
// by the rates of another service.
func (s *servedScratch) rateOf(span ptrace.Span) (float64, bool) {
	if s.server == nil {
		return 0, false
	}
	at := linkOf(span)
	for range maxDepth {
		if at.parent.IsEmpty() {
			p, ok := s.server.ServedRate(s.target, at.name, at.start.AsTime())
			return p, ok && methodspan.ValidProbability(p)
		}
		var ok bool
		if at, ok = s.links[spanKey{span.TraceID(), at.parent}]; !ok {
			return 0, false
		}
	}
	return 0, false
}
