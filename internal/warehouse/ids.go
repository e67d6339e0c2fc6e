package warehouse

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// IDSet is a set of item ids. The ids of the SDK end in a number that counts up per process. The set
// therefore stores a few runs of numbers per process, however many ids it contains. An id without such a
// number is stored as a prefix without runs.
type IDSet map[string][]span

// splitID splits an id into its trailing number and the prefix before it. Only a number in canonical
// spelling counts as one, so that joining both gives the id back.
func splitID(id string) (prefix string, n uint64, numbered bool) {
	i := len(id)
	for i > 0 && id[i-1] >= '0' && id[i-1] <= '9' {
		i--
	}
	digits := id[i:]
	if digits == "" || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		return id, 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return id[:i], n, err == nil
}

// plainKey returns the key of an id without a number. NUL distinguishes it from a prefix with the same
// spelling: no prefix contains NUL, because ids with control characters are refused.
func plainKey(id string) string { return "\x00" + id }

func isPlain(key string) bool { return strings.HasPrefix(key, "\x00") }

// checkKey returns an error for a key that no id has.
func checkKey(key string) error {
	if !isPlain(key) {
		return nil
	}
	if _, _, numbered := splitID(key[1:]); numbered {
		return fmt.Errorf("%.80q has a number and no runs", key[1:])
	}
	return nil
}

// keyOf returns the key of an id and its number.
func keyOf(id string) (key string, n uint64, numbered bool) {
	if key, n, numbered = splitID(id); !numbered {
		key = plainKey(id)
	}
	return key, n, numbered
}

// Has reports whether an id is in the set.
func (s IDSet) Has(id string) bool {
	key, n, numbered := keyOf(id)
	runs, ok := s[key]
	return ok && (!numbered || hasNumber(runs, n))
}

// AddID adds an id and returns by how many runs the set grew; the result can be negative.
func (s IDSet) AddID(id string) int {
	prefix, n, numbered := splitID(id)
	if !numbered {
		if _, ok := s[plainKey(id)]; ok {
			return 0
		}
		s[plainKey(id)] = nil
		return 1
	}
	runs := s[prefix]
	before := len(runs)
	s[prefix] = addRun(runs, span{n, n})
	return len(s[prefix]) - before
}

// PackIDs returns the ids as a packed set, see IDSet.Pack.
func PackIDs(ids []string) map[string]string {
	set := IDSet{}
	for _, id := range ids {
		set.AddID(id)
	}
	return set.Pack()
}

// Pack returns the set in the form of manifests: the runs of each key as text, as in "1-5,9".
func (s IDSet) Pack() map[string]string {
	if len(s) == 0 {
		return nil
	}
	packed := make(map[string]string, len(s))
	for key, runs := range s {
		var b strings.Builder
		for i, r := range runs {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatUint(r.from, 10))
			if r.to != r.from {
				b.WriteByte('-')
				b.WriteString(strconv.FormatUint(r.to, 10))
			}
		}
		packed[key] = b.String()
	}
	return packed
}

// Unpack adds a packed set and returns by how many runs s grew.
func (s IDSet) Unpack(packed map[string]string) (grown int, err error) {
	for key, runs := range packed {
		if err := checkKey(key); err != nil {
			return grown, err
		}
		if isPlain(key) {
			grown += s.AddID(key[1:])
			continue
		}
		more, err := parseRuns(runs)
		if err != nil {
			return grown, err
		}
		before := len(s[key])
		s[key] = addRuns(s[key], more)
		grown += len(s[key]) - before
	}
	return grown, nil
}

// Count returns the number of ids. It stops as soon as there are more than most, because a damaged run can
// have any length.
func (s IDSet) Count(most uint64) (n uint64) {
	for _, runs := range s {
		if runs == nil {
			n++
		}
		for _, r := range runs {
			if n += r.to - r.from + 1; n > most {
				return n
			}
		}
	}
	return n
}

// All returns an iterator over the ids.
func (s IDSet) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for key, runs := range s {
			if id, plain := strings.CutPrefix(key, "\x00"); plain {
				if !yield(id) {
					return
				}
				continue
			}
			for _, r := range runs {
				for n := r.from; n <= r.to; n++ {
					if !yield(key + strconv.FormatUint(n, 10)) {
						return
					}
				}
			}
		}
	}
}
