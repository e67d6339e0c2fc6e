package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Schemes of object stores.
const (
	schemeGCS  = "gs"
	schemeS3   = "s3"
	schemeFile = "file"
)

// IsAddress reports whether a warehouse is an object store.
func IsAddress(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (scheme == schemeGCS || scheme == schemeS3 || scheme == schemeFile)
}

// location is a parsed address.
type location struct {
	scheme string
	name   string // of the bucket; the directory for file://
	base   string // in front of all prefixes, without slashes at its ends
	query  url.Values
}

var (
	segment = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+-]*$`)
	prefix  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
)

const wantAddress = "want gs://bucket, s3://bucket?region=... or file:///directory"

// parse parses an address. Addresses contain no credentials; those come from the environment.
func parse(address string) (*location, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New(wantAddress + ", found what is no URL")
	}
	if u.User != nil {
		return nil, errors.New(wantAddress + " without a user or password: credentials are those of the environment")
	}
	l := &location{scheme: u.Scheme, name: u.Host, base: strings.Trim(u.Path, "/")}
	if l.query, err = url.ParseQuery(u.RawQuery); err != nil {
		return nil, fmt.Errorf("%s, found the options %q", wantAddress, u.RawQuery)
	}
	switch l.scheme {
	case schemeFile:
		if u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) || len(l.query) > 0 {
			return nil, fmt.Errorf("%s; a directory has an absolute path and no options, found %q", wantAddress, address)
		}
		l.name, l.base = filepath.Clean(filepath.FromSlash(u.Path)), ""
		return l, nil
	case schemeGCS, schemeS3:
	default:
		return nil, fmt.Errorf("%s, found the scheme %q", wantAddress, u.Scheme)
	}
	if l.name == "" {
		return nil, fmt.Errorf("%s, found no bucket in %q", wantAddress, address)
	}
	if l.base != "" {
		for part := range strings.SplitSeq(l.base, "/") {
			if !segment.MatchString(part) {
				return nil, fmt.Errorf("%s; its path may hold letters, digits and ._=+- between slashes, found %q", wantAddress, part)
			}
		}
	}
	return l, nil
}

// Check returns an error if the address is invalid.
func Check(address string) error {
	_, err := parse(address)
	return err
}

// CheckPrefix returns an error if the name of a collector's prefix is invalid.
func CheckPrefix(name string) error {
	if !prefix.MatchString(name) {
		return fmt.Errorf("must be one name of 1 to 128 letters, digits and ._- that begins with a letter or digit, found %q", name)
	}
	return nil
}

// String is the address without its options, as errors and logs show it.
func (l *location) String() string {
	if l.scheme == schemeFile {
		return schemeFile + "://" + filepath.ToSlash(l.name)
	}
	s := l.scheme + "://" + l.name
	if l.base != "" {
		s += "/" + l.base
	}
	return s
}

// key returns the name with the base in front.
func (l *location) key(name string) string {
	if l.base == "" {
		return name
	}
	return l.base + "/" + name
}
