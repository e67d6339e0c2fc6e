package evidence

import (
	"errors"
	"fmt"
	"time"
)

// Options of an evaluation. Defaults is what they are in production; a demonstration
// that cannot wait sets shorter times and says so.
type Options struct {
	// WarmUp is left out of every instance from its start, in whole buckets; Learn finds it
	// from the data.
	WarmUp time.Duration
	// Records is the least number of measured calls on both sides.
	Records float64
	// LeastChange is the smallest change that is raised, as a share.
	LeastChange float64
	// Margin is a change that is nobody's concern, as a share: e-values are made
	// against the hypothesis that the change is at most this.
	Margin float64
	// Evaluations is the number in a row that must raise a method.
	Evaluations int
	// Alpha is the share of false ones among what is raised in a deployment.
	Alpha float64
	// Inflation multiplies all variances: what the model of the errors leaves out.
	Inflation float64
	// Explained is the share of a caller's growth that raised callees must
	// account for, so that it is theirs; less where it could be so much.
	Explained float64
}

// Defaults are those of docs/background/statistics.md.
func Defaults() Options {
	return Options{
		WarmUp: Learn, Records: 30, LeastChange: 0.02, Margin: 0.01,
		Evaluations: 2, Alpha: 0.05, Inflation: 1.2, Explained: 0.8,
	}
}

// scales are the effects that the e-values look for.
var scales = []float64{0.02, 0.06, 0.20}

func (o Options) validate() error {
	var errs []error
	refuse := func(bad bool, name, rule string, found any) {
		if bad {
			errs = append(errs, fmt.Errorf("%s must be %s, found %v", name, rule, found))
		}
	}
	refuse(o.WarmUp < 0 && o.WarmUp != Learn, "WarmUp", "at least 0, or learned", o.WarmUp)
	refuse(!(o.Records >= 1), "Records", "at least 1", o.Records)
	refuse(!(o.Margin >= 0), "Margin", "at least 0", o.Margin)
	refuse(!(o.LeastChange >= o.Margin), "LeastChange", "at least Margin", o.LeastChange)
	refuse(o.Evaluations < 1, "Evaluations", "at least 1", o.Evaluations)
	refuse(!(o.Alpha > 0 && o.Alpha < 1), "Alpha", "between 0 and 1", o.Alpha)
	refuse(!(o.Inflation >= 1), "Inflation", "at least 1", o.Inflation)
	refuse(!(o.Explained > 0 && o.Explained <= 1), "Explained", "above 0 and at most 1", o.Explained)
	return errors.Join(errs...)
}
