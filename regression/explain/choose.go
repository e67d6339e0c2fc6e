package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/query"
)

// choose returns the accounts of the method that o.Method names. It tries the full name, then a suffix of the
// full name, then the full name without regard to case. More than one match is an error.
func (o *Options) choose(all []query.Sampling) ([]Account, error) {
	name := methodspan.ParseFunction(o.Method).Full()
	matching := func(match func(full, name string) bool) (found []query.Sampling) {
		for _, s := range all {
			if (match(s.Full, name) || match(s.Full, o.Method)) && (o.Version == "" || o.Version == s.Version) {
				found = append(found, s)
			}
		}
		return found
	}
	found := matching(func(full, name string) bool { return full == name })
	if len(found) == 0 {
		found = matching(func(full, name string) bool {
			return strings.HasSuffix(full, "."+name) || strings.HasSuffix(full, "/"+name)
		})
	}
	if len(found) == 0 {
		found = matching(strings.EqualFold)
	}
	var names, candidates []string
	var accounts []Account
	for _, s := range found {
		candidate := fmt.Sprintf("%s of %s", s.Full, query.Service{Namespace: s.Namespace, Name: s.Name})
		if !slices.Contains(candidates, candidate) {
			candidates = append(candidates, candidate)
		}
		i := slices.IndexFunc(accounts, func(a Account) bool { return a.MethodName == s.MethodName })
		if i < 0 {
			i = len(accounts)
			accounts = append(accounts, Account{MethodName: s.MethodName, Accepted: []state.Acceptance{}, Silenced: []delivery.SilencedAlert{}, Open: []state.OpenAlert{}})
		}
		accounts[i].Versions = append(accounts[i].Versions, s)
	}
	switch {
	case len(candidates) > 1:
		const most = 16
		more := ""
		if len(candidates) > most {
			more, candidates = fmt.Sprintf("\nand %d more", len(candidates)-most), candidates[:most]
		}
		return nil, fmt.Errorf("%q may be any of these: give more of the name, or --service:\n%s%s", o.Method, strings.Join(candidates, "\n"), more)
	case len(candidates) == 0:
		for _, s := range all {
			names = append(names, s.Full)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		hint := configfile.DidYouMean(name, names)
		if alike := endingIn(names, o.Method); len(alike) > 0 && !strings.HasPrefix(hint, "did you mean ") {
			hint = "did you mean one of these?\n" + strings.Join(alike, "\n")
		}
		if hint != "" {
			hint = ": " + hint
		}
		return nil, fmt.Errorf("%w: no method %q %s%s", query.ErrNoData, o.Method, o.Window.Span(o.Zone), hint)
	}
	for i := range accounts {
		slices.SortFunc(accounts[i].Versions, func(a, b query.Sampling) int { return a.First.Compare(b.First) })
	}
	return accounts, nil
}

// maxAlike is the maximum number of names that an error suggests.
const maxAlike = 8

// endingIn returns full names that end in a name, or in its last part, in any case.
func endingIn(names []string, name string) (found []string) {
	name = strings.ToLower(name)
	for _, end := range []string{name, name[strings.LastIndexAny(name, "./")+1:]} {
		for _, full := range names {
			if end != "" && strings.HasSuffix(strings.ToLower(full), end) && len(found) < maxAlike {
				found = append(found, full)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
