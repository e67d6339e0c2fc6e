package sink

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// Secret is a text that must not be shown. Printing, marshalling or formatting it shows its source instead.
type Secret struct {
	source string
	value  func() string // a function, because no formatting verb prints its content
}

// maxSecret is the maximum length of a secret, in bytes.
const maxSecret = 64 << 10

// ReadSecret reads the secret at env:NAME or file:PATH, without surrounding white space.
func ReadSecret(source string) (Secret, error) {
	kind, name, _ := strings.Cut(source, ":")
	var value string
	switch {
	case kind == "env" && name != "":
		value = os.Getenv(name)
		if strings.TrimSpace(value) == "" {
			return Secret{}, fmt.Errorf("the environment variable %q is not set or empty", name)
		}
	case kind == "file" && name != "":
		var err error
		if value, err = readSecretFile(name); err != nil {
			return Secret{}, err
		}
	default:
		// The value found can be the secret itself, so it is not shown.
		return Secret{}, errors.New("want env:NAME or file:PATH, found something else: a secret on a command line is seen by everybody on the machine")
	}
	return newSecret(source, strings.TrimSpace(value)), nil
}

// ReadAddress reads an address that need not be secret: in addition to env:NAME and file:PATH it accepts a plain URL
// without user and parameters.
func ReadAddress(source string) (Secret, error) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		u, err := url.Parse(source)
		if err != nil || u.User != nil || u.RawQuery != "" {
			return Secret{}, errors.New("want a URL without user and parameters, or env:NAME or file:PATH, found something else")
		}
		return newSecret(source, source), nil
	}
	return ReadSecret(source)
}

func newSecret(source, value string) Secret {
	return Secret{source, func() string { return value }}
}

func readSecretFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // a pipe would block for ever
		return "", fmt.Errorf("%s: want a regular file, found %s", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSecret:
		return "", fmt.Errorf("%s: want at most %d bytes, found more", path, maxSecret)
	case strings.TrimSpace(string(data)) == "":
		return "", fmt.Errorf("%s: want a value, found an empty file", path)
	}
	return string(data), nil
}

func (s Secret) reveal() string { return s.value() }

// String implements fmt.Stringer.
func (s Secret) String() string { return s.source }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.source }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.source), nil }
