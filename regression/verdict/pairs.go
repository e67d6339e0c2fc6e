package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/query"
)

// Pair is two deployments of a service to compare.
type Pair struct {
	query.Service
	Base, Head Deployment
	// Earlier are pairs of deployments before base: what hosts differ by is learned from
	// them where there are few processes.
	Earlier []Pair
}

// Skip says why a service was not compared.
type Skip struct {
	query.Service
	Reason string `json:"reason"`
}

// ErrUnknownVersion means that a version asked for was never seen.
var ErrUnknownVersion = errors.New("version not seen")

// Pairs chooses what to compare for every service of the runs. Empty base and
// head mean the newest deployment and the one before it.
func Pairs(runs []query.Run, base, head string) ([]Pair, []Skip, error) {
	byService := map[query.Service][]query.Run{}
	var order []query.Service
	for _, r := range runs {
		if byService[r.Service] == nil {
			order = append(order, r.Service)
		}
		byService[r.Service] = append(byService[r.Service], r)
	}
	slices.SortFunc(order, func(a, b query.Service) int { return strings.Compare(a.String(), b.String()) })
	var pairs []Pair
	var skips []Skip
	for _, service := range order {
		deployments := Deployments(byService[service])
		pair, reason := choose(deployments, base, head)
		if reason != "" {
			skips = append(skips, Skip{service, reason})
			continue
		}
		pair.Service = service
		pair.Earlier = earlierOf(service, deployments, pair)
		pairs = append(pairs, pair)
	}
	return pairs, skips, checkVersions(runs, base, head)
}

func checkVersions(runs []query.Run, base, head string) error {
	var seen []string
	for _, r := range runs {
		if r.Version != "" && !slices.Contains(seen, r.Version) {
			seen = append(seen, r.Version)
		}
	}
	var errs []error
	for _, v := range []struct{ flag, version string }{{"--base", base}, {"--head", head}} {
		if v.version != "" && !slices.Contains(seen, v.version) && len(seen) > 0 {
			errs = append(errs, fmt.Errorf("%s: %w in the time looked at: %q (%s)", v.flag, ErrUnknownVersion, v.version, configfile.DidYouMean(v.version, seen)))
		}
	}
	if base != "" && base == head {
		errs = append(errs, fmt.Errorf("--base and --head: want two versions, found %q twice", base))
	}
	return errors.Join(errs...)
}

// choose picks the pair among the deployments of one service, sorted by when they
// began, or says why there is none.
func choose(deployments []Deployment, base, head string) (Pair, string) {
	if len(deployments) == 0 {
		return Pair{}, "its version is unknown: set service.version"
	}
	h := newest(deployments, func(d Deployment) bool { return head == "" || d.Version == head })
	if h == nil {
		return Pair{}, fmt.Sprintf("version %q was not seen", head)
	}
	if base != "" {
		// Of several deployments the last that began before head's, or any.
		b := newest(deployments, func(d Deployment) bool { return d.Version == base && d.Since.Before(h.Since) })
		if b == nil {
			b = newest(deployments, func(d Deployment) bool { return d.Version == base })
		}
		if b == nil {
			return Pair{}, fmt.Sprintf("version %q was not seen", base)
		}
		if b.Version == h.Version {
			return Pair{}, fmt.Sprintf("version %q is the newest: name another --head", base)
		}
		return Pair{Base: *b, Head: *h}, ""
	}
	var b *Deployment
	var seen time.Time
	for i := range deployments {
		d := &deployments[i]
		if d.Version == h.Version || !d.Since.Before(h.Since) {
			continue
		}
		last := d.Last
		if last.After(h.First) {
			last = h.First
		}
		if b == nil || !last.Before(seen) { // of equal ones the one that began last
			b, seen = d, last
		}
	}
	if b == nil {
		return Pair{}, fmt.Sprintf("only version %q was seen: there is none before it to compare with", h.Version)
	}
	return Pair{Base: *b, Head: *h}, ""
}

func newest(deployments []Deployment, match func(Deployment) bool) *Deployment {
	for i := len(deployments) - 1; i >= 0; i-- {
		if match(deployments[i]) {
			return &deployments[i]
		}
	}
	return nil
}

// earlierOf pairs the deployments up to the base, each with the one before it.
func earlierOf(service query.Service, deployments []Deployment, p Pair) (out []Pair) {
	for i := len(deployments) - 1; i > 0 && len(out) < earlierPairs; i-- {
		before, d := deployments[i-1], deployments[i]
		if !p.Head.Since.Before(d.Since) && d != p.Head && before.Version != d.Version {
			out = append(out, Pair{Service: service, Base: before, Head: d})
		}
	}
	return out
}
