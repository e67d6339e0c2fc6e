package methodspans

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// findServer returns the extension that knows the rates served to stock SDKs.
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

// sampler is what is known of the sampler of one resource's SDK.
type sampler struct {
	server rates.Server // nil = not used
	target rates.Target
	family family
	known  bool // the family is
	// random: the SDK draws its trace ids, so these show ratios.
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

// servedRate returns the rate that was served for a root when it began. exceeded: it cannot have kept
// this trace, whose number is not below it.
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

// ratioRounds is by how much samplers may round a ratio.
const ratioRounds = 1e-6

// maxUnpolled is how many processes of a service are remembered that kept what the served rate
// would not.
const maxUnpolled = 1000

// unpolled remembers of processes when they last began a trace that the rate served to their
// service cannot have kept: until their first poll, and for a moment after a change, SDKs
// sample by another.
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
