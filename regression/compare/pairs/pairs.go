package pairs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Pair is two deployments of a service to compare.
type Pair struct {
	query.Service
	Base, Head Deployment
	ChosenBy   BaseRule
	// Earlier are pairs of deployments before Base, from which the differences between hosts are learned if processes
	// are few.
	Earlier []Pair
}

// BaseRule is the reason why one version is the base and the other the head.
type BaseRule string

const (
	AskedFor       BaseRule = "asked for"
	ByProcessStart BaseRule = "process start"
	ByFirstRow     BaseRule = "first row"
	ByVersionOrder BaseRule = "version order" // the start times do not give an order
)

// String returns the rule as text.
func (r BaseRule) String() string {
	switch r {
	case AskedFor:
		return string(r)
	case ByVersionOrder:
		return "chosen by version order, because nothing says which began first"
	}
	return "chosen by " + string(r)
}

// ruleOf returns the rule that orders base before head.
func ruleOf(base, head *Deployment) BaseRule {
	switch {
	case base.order.Equal(head.order):
		return ByVersionOrder
	case base.byProcess && head.byProcess:
		return ByProcessStart
	}
	return ByFirstRow
}

// Skip is a service that was not compared, with the reason.
type Skip struct {
	query.Service
	Reason string `json:"reason"`
	// Records is the number of its measured calls.
	Records int64 `json:"-"`
}

// ErrUnknownVersion means that the warehouse contains no row of a requested version.
var ErrUnknownVersion = errors.New("version not seen")

// Choose chooses the pair to compare for every service of the runs. If base and head are empty, they are the newest
// deployment and the one before it.
func Choose(runs []query.Run, base, head string) ([]Pair, []Skip, error) {
	byService := ByService(runs)
	order := slices.SortedFunc(maps.Keys(byService), func(a, b query.Service) int { return strings.Compare(a.String(), b.String()) })
	var pairs []Pair
	var skips []Skip
	for _, service := range order {
		deployments := Deployments(byService[service])
		pair, reason := choosePair(deployments, base, head)
		if reason == "" {
			reason = apart(&pair.Base, &pair.Head)
		}
		if reason != "" {
			skips = append(skips, Skip{service, reason, measuredIn(byService[service])})
			continue
		}
		pair.Service = service
		pair.Earlier = earlierOf(service, deployments, pair)
		pairs = append(pairs, pair)
	}
	return pairs, skips, checkVersions(runs, base, head)
}

// fewLookedAt is the maximum number of pairs with too few measured calls that are compared anyway, to report how many
// records their methods lack. The limit bounds the number of queries, because any client can invent service names.
const fewLookedAt = 10

// leaveOutFew leaves out pairs in which no method can have enough measured calls in both versions, except for the
// fewLookedAt pairs with most.
func leaveOutFew(pairs []Pair, records int64) (out []Pair, skips []Skip) {
	least := func(p Pair) int64 { return min(p.Base.Measured, p.Head.Measured) }
	var few []Pair
	for _, p := range pairs {
		if least(p) < records {
			few = append(few, p)
		}
	}
	_, left := output.Most(few, fewLookedAt, func(a, b Pair) int { return cmp.Compare(least(b), least(a)) })
	leave := make(map[query.Service]bool, len(left))
	for _, p := range left {
		leave[p.Service] = true
		skips = append(skips, Skip{p.Service, fmt.Sprintf("%d calls of version %q and %d of version %q were measured, and a method takes %d of both",
			p.Base.Measured, p.Base.Version, p.Head.Measured, p.Head.Version, records), p.Base.Measured + p.Head.Measured})
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return leave[p.Service] }), skips
}

// ByService groups the runs by service.
func ByService(runs []query.Run) map[query.Service][]query.Run {
	out := map[query.Service][]query.Run{}
	for _, r := range runs {
		out[r.Service] = append(out[r.Service], r)
	}
	return out
}

func measuredIn(runs []query.Run) (n int64) {
	for i := range runs {
		n += runs[i].Measured
	}
	return n
}

// apart returns why two deployments cannot be compared: the sampling is known for the spans of one and mostly
// unknown for the other, so they can contain different measurements. It returns "" if they can.
func apart(base, head *Deployment) string {
	assumed := func(d *Deployment) bool { return 2*d.Assumed > d.Measured }
	if assumed(base) == assumed(head) {
		return ""
	}
	known, not := base, head
	if assumed(base) {
		known, not = head, base
	}
	return fmt.Sprintf("how spans were sampled is known of version %q and not of %q, so they do not compare: %s", known.Version, not.Version, methodspan.AssumedRemedy)
}

func checkVersions(runs []query.Run, base, head string) error {
	versions := map[string]bool{}
	for i := range runs {
		if v := runs[i].Version; v != "" {
			versions[v] = true
		}
	}
	seen := slices.Sorted(maps.Keys(versions))
	var errs []error
	for _, v := range []struct{ flag, version string }{{"--base", base}, {"--head", head}} {
		if v.version != "" && !versions[v.version] && len(seen) > 0 {
			errs = append(errs, fmt.Errorf("%s: %w in the time looked at: %q (%s)", v.flag, ErrUnknownVersion, v.version, configfile.DidYouMean(v.version, seen)))
		}
	}
	if base != "" && base == head {
		errs = append(errs, fmt.Errorf("--base and --head: want two versions, found %q twice", base))
	}
	return errors.Join(errs...)
}

// choosePair chooses the pair among the deployments of one service, which are sorted by start, or returns the
// reason why there is none.
func choosePair(deployments []Deployment, base, head string) (Pair, string) {
	if len(deployments) == 0 {
		return Pair{}, "its version is unknown: set service.version"
	}
	i := newest(deployments, func(d Deployment) bool { return head == "" || d.Version == head })
	if i < 0 {
		return Pair{}, fmt.Sprintf("version %q was not seen", head)
	}
	h, before := &deployments[i], deployments[:i]
	if base != "" {
		// Of several deployments of the version, the last that began before the head; else any.
		ofBase := func(d Deployment) bool { return d.Version == base }
		j := newest(before, ofBase)
		if j < 0 {
			j = newest(deployments, ofBase)
		}
		if j < 0 {
			return Pair{}, fmt.Sprintf("version %q was not seen", base)
		}
		b := &deployments[j]
		if b.Version == h.Version {
			return Pair{}, fmt.Sprintf("version %q is the newest: name another --head", base)
		}
		if head != "" {
			return Pair{Base: *b, Head: *h, ChosenBy: AskedFor}, ""
		}
		return Pair{Base: *b, Head: *h, ChosenBy: ruleOf(b, h)}, ""
	}
	var b *Deployment
	var seen time.Time
	for i := range before {
		d := &before[i]
		if d.Version == h.Version {
			continue
		}
		last := sooner(h.First, d.Last)
		if b == nil || !last.Before(seen) { // with equal times the one that began last
			b, seen = d, last
		}
	}
	switch {
	case b != nil:
		return Pair{Base: *b, Head: *h, ChosenBy: ruleOf(b, h)}, ""
	case slices.ContainsFunc(deployments, func(d Deployment) bool { return d.Version != h.Version }):
		return Pair{}, fmt.Sprintf("no version was seen before %q: name --base", h.Version)
	}
	return Pair{}, fmt.Sprintf("only version %q was seen: there is none before it to compare with", h.Version)
}

// newest returns the index of the last deployment that matches, or -1.
func newest(deployments []Deployment, match func(Deployment) bool) int {
	for i := len(deployments) - 1; i >= 0; i-- {
		if match(deployments[i]) {
			return i
		}
	}
	return -1
}

// earlierOf returns the deployments up to the base, each paired with the one before it.
func earlierOf(service query.Service, deployments []Deployment, p Pair) (out []Pair) {
	for i := len(deployments) - 1; i > 0 && len(out) < earlierPairs; i-- {
		before, d := deployments[i-1], deployments[i]
		if !p.Head.Since.Before(d.Since) && d != p.Head && before.Version != d.Version {
			out = append(out, Pair{Service: service, Base: before, Head: d})
		}
	}
	return out
}
