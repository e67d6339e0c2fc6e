package export

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	DefaultEndpoint = "http://localhost:4318"
	// RatesPort is where the collector's extension sampling_rates listens by default.
	RatesPort    = "4319"
	TracesPath   = "/v1/traces"
	ratesPath    = "/v1/rates"
	maxEndpoints = 64
)

// Rank orders collectors by rendezvous hashing: every process of a service in one
// environment has the same order, whatever order they were configured in, and removing
// a collector moves only the processes that sent to it. Hashes are FNV-1a of
// collector, namespace, service and environment, each ended by a zero byte, mixed
// by the finalizer of splitmix64.
func Rank(collectors []string, namespace, service, environment string) []string {
	ranked := slices.Clone(collectors)
	weight := func(collector string) uint64 {
		h := fnv.New64a()
		for _, part := range []string{collector, namespace, service, environment} {
			h.Write(append([]byte(part), 0))
		}
		x := h.Sum64()
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a, b))
	})
	return slices.Compact(ranked)
}

// Elsewhere reports whether a collector is on another machine.
func Elsewhere(collector string) bool {
	u, err := url.Parse(collector)
	return err != nil || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback()
}

// Addressed appends a path to base URLs, and reports every fault.
func Addressed(bases []string, path string) ([]string, error) {
	if len(bases) == 0 || len(bases) > maxEndpoints {
		return nil, fmt.Errorf("there must be 1 to %d endpoints, found %d", maxEndpoints, len(bases))
	}
	var all []string
	var faults []error
	for _, base := range bases {
		u, err := url.Parse(base)
		switch {
		case err != nil:
			faults = append(faults, errNoURL)
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			faults = append(faults, fmt.Errorf("an endpoint must be an http or https URL such as %s, found %s", DefaultEndpoint, instead(u)))
		default:
			all = append(all, u.JoinPath(path).String())
		}
	}
	return all, errors.Join(faults...)
}

var errNoURL = errors.New("an endpoint must be a URL") // the parser's own message repeats the URL, which can contain secrets

// instead returns a description of an invalid endpoint, with no more than scheme, host and port,
// because the rest can be secret.
func instead(u *url.URL) string {
	switch {
	case u.Host != "":
		return strconv.Quote(hostOf(u))
	case u.Opaque != "" && strings.Trim(u.Opaque, "0123456789") == "": // host:port
		return strconv.Quote(u.Scheme + ":" + u.Opaque)
	}
	return "one without host"
}

// RatesURLs returns the URLs that serve rates: one place, or with a port alone, such as ":4319", that
// port of every collector.
func RatesURLs(rates string, collectors []string) ([]string, error) {
	port, onPort := strings.CutPrefix(rates, ":")
	if !onPort {
		return Addressed([]string{rates}, ratesPath)
	}
	var bases []string
	for _, collector := range collectors {
		u, err := url.Parse(collector)
		if err != nil {
			return nil, errNoURL
		}
		bases = append(bases, (&url.URL{Scheme: u.Scheme, User: u.User, Host: net.JoinHostPort(u.Hostname(), port)}).String())
	}
	return Addressed(bases, ratesPath)
}
