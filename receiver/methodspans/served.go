package methodspans

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// findServer returns the extension that serves rates to stock SDKs.
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

// sampler describes the sampler of one resource's SDK.
type sampler struct {
	server rates.Server // nil = not used
	target rates.Target
	family family
	known  bool // family is known
	// random is true if the SDK draws trace ids at random, so that ratios can be estimated.
	random bool
}

func samplerOf(server rates.Server, resource *methodspan.ParsedResource) sampler {
	s := sampler{server: server, random: resource.SDK == "opentelemetry"}
	s.family, s.known = familyOf[resource.Language]
	s.known = s.known && s.random
	if server != nil {
		s.target = rates.Target{
			Namespace:   resource.ServiceNamespace,
			Service:     resource.Service,
			Environment: resource.Environment,
			Version:     resource.Version,
			Instance:    resource.Instance,
		}
		if resource.NamedByReceiver {
			s.target.Instance = ""
		}
	}
	return s
}

// servedRate returns the rate that was served for root when it started. exceeded is true if a
// sampler with that rate would not have kept the trace.
func (s *sampler) servedRate(root ptrace.Span) (p float64, exceeded, ok bool) {
	if s.server == nil {
		return 0, false, false
	}
	p, ok = s.server.ServedRate(s.target, root.Name(), root.StartTimestamp().AsTime())
	if !ok || !methodspan.ValidProbability(p) {
		return 0, false, false
	}
	return p, s.known && p < 1 && s.family.number(root.TraceID()) >= p*(1+ratioRounds), true
}

// ratioRounds is the relative rounding error of samplers.
const ratioRounds = 1e-6

// maxUnpolled bounds the entries of unpolled of one service.
const maxUnpolled = 1000

// unpolled holds, by process, the latest start of a trace that the served rate cannot have kept:
// until their first poll and shortly after a change, SDKs sample with another rate.
type unpolled map[string]pcommon.Timestamp

func (u unpolled) exceeded(instance string, start pcommon.Timestamp, counts *requestCounts) {
	if _, ok := u[instance]; !ok && len(u) >= maxUnpolled {
		counts.overflow[tableUnpolled]++
		for one := range u {
			delete(u, one)
			break
		}
	}
	u[instance] = max(u[instance], start)
}
