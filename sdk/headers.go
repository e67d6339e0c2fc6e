package corehour

import "strings"

// isToken tells whether a name can be that of an HTTP header, by RFC 9110.
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

// isHeaderValue tells whether a value can stand in an HTTP header: no control
// characters but the tab.
func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
