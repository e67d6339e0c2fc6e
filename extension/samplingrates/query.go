package samplingrates

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rates"
)

const (
	maxQuery     = 16 << 10 // bytes
	maxParameter = 4 << 10  // bytes, unescaped
)

// ratesQuery is a parsed query.
type ratesQuery struct {
	target rates.Target
	method string
	wait   time.Duration
}

// parameters are the parameters of an endpoint. Others are ignored, because a newer client can send more.
type parameters []string

var (
	ratesParameters    = parameters{"namespace", "service", "environment", "version", "instance", "wait"}
	samplingParameters = parameters{"service"}
	explainParameters  = parameters{"namespace", "service", "environment", "version", "method"}
)

// parse parses a query and returns the first fault with its parameter.
func (names parameters) parse(raw string) (ratesQuery, error) {
	var q ratesQuery
	if len(raw) > maxQuery {
		return q, fmt.Errorf("the query must have at most %d bytes, found %d", maxQuery, len(raw))
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("the query must be of the form name=value&name=value, with what is special escaped as %XX")
	}
	into := map[string]*string{
		"namespace": &q.target.Namespace, "service": &q.target.Service, "environment": &q.target.Environment,
		"version": &q.target.Version, "instance": &q.target.Instance, "method": &q.method, "wait": new(string),
	}
	for _, name := range names {
		given := values[name]
		switch {
		case len(given) > 1:
			return q, fmt.Errorf("`%s` must be given once, found it %d times", name, len(given))
		case len(given) == 0 || given[0] == "":
			if name == "service" || name == "method" {
				return q, fmt.Errorf("`%s` must be given, found nothing", name)
			}
		default:
			if err := checkText(name, given[0]); err != nil {
				return q, err
			}
			*into[name] = strings.Clone(given[0]) // what remembers it must not keep the whole query
		}
	}
	q.wait, err = parseWait(*into["wait"])
	return q, err
}

// checkText returns the fault of a parameter's value, or "".
func checkText(name, value string) error {
	switch {
	case len(value) > maxParameter:
		return fmt.Errorf("`%s` must have at most %d bytes, found %d", name, maxParameter, len(value))
	case !utf8.ValidString(value):
		return fmt.Errorf("`%s` must be UTF-8, found %s", name, configfile.Quote(value))
	}
	return nil
}

// parseWait parses the time for which a client can wait. It can exceed the longest wait.
func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, fmt.Errorf("`wait` must be a duration of 0s or more such as 25s, found %s", configfile.Quote(text))
	}
	return wait, nil
}
