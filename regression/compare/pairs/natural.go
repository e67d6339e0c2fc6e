package pairs

import (
	"cmp"
	"strings"
)

// compareVersions compares version strings in natural order: numbers in them by value,
// so 1.9 comes before 1.10, and a pre-release (1.10-rc1) before its release.
func compareVersions(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		p, q := leading(x), leading(y)
		if c := compareParts(p, q); c != 0 {
			return c
		}
		x, y = x[len(p):], y[len(q):]
	}
	switch {
	case strings.HasPrefix(x, "-"):
		return -1
	case strings.HasPrefix(y, "-"):
		return 1
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// leading returns the number that s begins with, or else its first byte.
func leading(s string) string {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:max(n, 1)]
}

func compareParts(a, b string) int {
	if !isDigit(a[0]) || !isDigit(b[0]) {
		return cmp.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
