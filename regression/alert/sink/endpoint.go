package sink

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Endpoint is an address with its headers.
type Endpoint struct {
	url     string
	headers http.Header
	client  *http.Client
	secrets []string // texts to remove from errors
}

// client is shared by all endpoints. It follows no redirects: a redirect would pass the headers and the message to a
// host that is not configured.
var client = &http.Client{
	Transport: transport(),
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 1
	t.IdleConnTimeout = 10 * time.Second
	t.TLSHandshakeTimeout = attemptTimeout
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}

// NewEndpoint validates an address and headers. path is appended to the address unless it ends with it. headers
// contains lines `Name: value` and can be the zero Secret.
func NewEndpoint(address Secret, path string, headers Secret) (*Endpoint, error) {
	u, err := url.Parse(address.reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: want an http:// or https:// URL, found something else", address)
	}
	e := &Endpoint{headers: http.Header{}, client: client}
	e.hide(u.String())
	e.hide(u.RequestURI())
	e.hide(u.RawQuery)
	for part := range strings.SplitSeq(u.Path, "/") {
		e.hide(part)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			e.hide(v)
		}
	}
	if u.User != nil {
		e.hide(u.User.String())
		e.hide(u.User.Username())
		if password, ok := u.User.Password(); ok {
			e.hide(password)
		}
	}
	if path != "" && !strings.HasSuffix(u.Path, path) {
		u = u.JoinPath(path)
	}
	e.url = u.String()
	if headers.value == nil {
		return e, nil
	}
	for line := range strings.Lines(headers.reveal()) {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !ok || !isToken(name) || !isPrintable(value) {
			return nil, fmt.Errorf("%s: want lines of `Name: value`, found something else", headers)
		}
		e.headers.Add(name, value)
		e.hide(value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // Bearer, Basic
			e.hide(credentials)
		}
	}
	if len(e.headers) == 0 {
		return nil, errors.New(headers.String() + ": want lines of `Name: value`, found none")
	}
	return e, nil
}

// shortest is the minimum length of a secret, in bytes. Shorter texts are parts of paths, and hiding them would hide
// ordinary words.
const shortest = 6

func (e *Endpoint) hide(s string) {
	if len(s) >= shortest {
		e.secrets = append(e.secrets, s)
	}
}

func isToken(s string) bool {
	for _, r := range s {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) {
			return false
		}
	}
	return s != ""
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return s != ""
}
