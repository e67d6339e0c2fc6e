package export

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Headers are sent with requests, by canonical name. Their values can be secrets.
type Headers map[string]string

// Set sets a header, or returns the reason why it cannot be sent. The fault does not quote an invalid
// name, because it can be a misplaced secret.
func (h Headers) Set(name, value string) (fault string) {
	switch {
	case !isToken(name):
		return "a header's name must be of letters, digits and the signs of RFC 9110 alone, without spaces and colons"
	case !isHeaderValue(value):
		return fmt.Sprintf("the value of %q must be without control characters", name)
	}
	h[http.CanonicalHeaderKey(name)] = value
	return ""
}

// ForRates returns the headers of polls for rates at these URLs: those for collectors, and own. A
// collector's token is not sent to another host, and not without TLS if the collector has TLS.
func (h Headers) ForRates(own Headers, urls, collectors []string, logf func(string, ...any)) Headers {
	for _, u := range urls {
		at := siteOf(u)
		if !slices.ContainsFunc(collectors, func(collector string) bool { return siteOf(collector) == at }) {
			if len(h) > 0 && len(own) == 0 {
				logf("the headers for the collector are not sent with polls for rates: %s is another host, or has another scheme: "+
					"set COREHOUR_RATES_HEADERS", at)
			}
			return own
		}
	}
	all := maps.Clone(h)
	maps.Copy(all, own)
	return all
}

// siteOf returns the scheme and host of a URL that was parsed before, without its port.
func siteOf(parsed string) string {
	u, err := url.Parse(parsed)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname())
}

// isToken reports whether name is a valid name of an HTTP header (RFC 9110).
func isToken(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r):
		default:
			return false
		}
	}
	return name != ""
}

// isHeaderValue reports whether value is valid in an HTTP header: no control characters except tab.
func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
