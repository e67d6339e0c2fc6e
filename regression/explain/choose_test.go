package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// sampled returns the sampling of a method of the service shop in a version, seen from the hour-th hour on.
func sampled(class, method, version string, hour int) query.Sampling {
	return query.Sampling{
		MethodName: query.MethodName{Service: query.Service{Name: "shop"}, Class: class, Method: method},
		Full:       class + "." + method, Version: version, First: fixture.Start.Add(time.Duration(hour) * time.Hour),
	}
}

func in(namespace, environment string, s query.Sampling) query.Sampling {
	s.Namespace, s.Environment = namespace, environment
	return s
}

func TestChoose(t *testing.T) {
	known := []query.Sampling{
		sampled("a/x", "Run", "2", 1), sampled("a/x", "Run", "1", 0), sampled("a/y", "Run", "1", 0), sampled("b.Type", "Stop", "1", 0),
		in("store", "test", sampled("c", "Twice", "1", 0)), in("bank", "test", sampled("c", "Twice", "1", 0)),
		in("store", "test", sampled("d", "Both", "1", 0)), in("store", "prod", sampled("d", "Both", "1", 0)),
		sampled("GET ", "/cart", "1", 0),
	}
	for i := range 20 {
		known = append(known, sampled(fmt.Sprintf("many/m%02d", i), "Do", "1", 0))
	}
	for _, c := range []struct{ method, version, want string }{
		{"a/x.Run", "", "a/x.Run 1 2"},
		{"a/x.Run", "2", "a/x.Run 2"},
		{"a/x.Run", "3", `no method "a/x.Run"`},
		{"x.Run", "", "a/x.Run 1 2"},
		{"un", "", `no method "un"`},
		{"Run", "", `"Run" may be any of these: give more of the name, or --service:` + "\na/x.Run of shop\na/y.Run of shop"},
		{"Run", "2", "a/x.Run 2"},
		{"b.(*Type).Stop", "", "b.Type.Stop 1"},
		{"B.TYPE.stop", "", "b.Type.Stop 1"},
		{"GET ./cart", "", "GET ./cart 1"},
		{"b.Type.Stob", "", `no method "b.Type.Stob" from 2026-03-10 09:00:00 UTC until now: did you mean "b.Type.Stop"?`},
		{"nothing like it", "", `no method "nothing like it" from 2026-03-10 09:00:00 UTC until now`},
		{"c.Twice", "", "c.Twice of store/shop\nc.Twice of bank/shop"},
		{"d.Both", "", "d.Both 1, d.Both 1"},
		{"Do", "", "many/m15.Do of shop\nand 4 more"},
	} {
		o := Options{Method: c.method, Version: c.version, Window: query.Window{From: fixture.Start}, Zone: time.UTC}
		accounts, err := o.choose(known)
		var found []string
		for _, a := range accounts {
			name := a.Class + "." + a.Method
			for _, v := range a.Versions {
				name += " " + v.Version
			}
			found = append(found, name)
		}
		got := strings.Join(found, ", ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s of version %q: %s, want %s", c.method, c.version, got, c.want)
		}
		if missing := strings.HasPrefix(c.want, "no method"); errors.Is(err, query.ErrNoData) != missing {
			t.Errorf("%s: no data: %t, want %t", c.method, !missing, missing)
		}
	}
	// JSON contains empty lists, not null.
	o := Options{Method: "a/y.Run"}
	if a, err := o.choose(known); err != nil || slices.Contains([]bool{a[0].Accepted == nil, a[0].Silenced == nil, a[0].Open == nil}, true) {
		t.Errorf("%+v, %v", a, err)
	}
}
