package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/configfile"
)

// Checks of a stored state, which comes from a file with any contents.

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// parseTime reads Unix seconds, 0 standing for none.
func parseTime(key string, x float64) (time.Time, error) {
	const farthest = 1 << 33 // the year 2242
	if !(x >= 0 && x <= farthest) {
		return time.Time{}, fmt.Errorf("`%s` must be between 0 and %d seconds, found %v", key, int64(farthest), x)
	}
	if x == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(int64(x * 1000)), nil
}

func checkAmounts(key string, xs ...float64) error {
	for _, x := range xs {
		if !validAmount(x) {
			return fmt.Errorf("`%s` must be amounts, found %v", key, x)
		}
	}
	return nil
}

func share(key string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("`%s` must be between 0 and 1, found %v", key, x)
	}
	return nil
}

func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > maxStateName {
			return fmt.Errorf("names must have at most %d bytes, found %d", maxStateName, len(name))
		}
	}
	return nil
}

func checkChoice(key, found string, words ...string) error {
	if !slices.Contains(words, found) {
		return fmt.Errorf("`%s` must be one of %q, found %s", key, words, configfile.Quote(found))
	}
	return nil
}
