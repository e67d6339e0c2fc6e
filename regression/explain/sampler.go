package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/output"
)

// Answer is everything that is known about a method.
type Answer struct {
	*Explanations
	Methods []Account `json:"methods,omitempty"`
}

// Document returns the answer as tables: the data of the collector's sampler first, then the warehouse's.
func (a *Answer) Document(zone *time.Location) *output.Document {
	d := &output.Document{Data: a}
	if a.Explanations != nil {
		for i := range a.Explanations.Explanations {
			d.Add(samplerTable(&a.Explanations.Explanations[i]))
		}
		if a.More > 0 {
			d.Say(fmt.Sprintf("%d more versions and environments: choose with --version and --environment", a.More))
		}
	}
	for i := range a.Methods {
		a.Methods[i].addTables(d, zone)
	}
	return d
}

// fact is a row of a table of facts.
type fact struct{ what, value string }

func factTable(title string, facts []fact) *output.Table {
	var c output.Columns[fact]
	c.Name("", func(f *fact) string { return f.what })
	c.Column("", func(f *fact) output.Cell { return output.Prose(f.value) })
	t := c.Table(facts)
	t.Title = title
	return t
}

// headline returns the method, its service and its sampling rate.
func headline(e *rates.Explanation) string {
	service := e.Service
	if e.Namespace != "" {
		service = e.Namespace + "/" + service
	}
	of := strings.TrimSpace(service + " " + e.Version)
	if e.Environment != "" {
		of += " in " + e.Environment
	}
	rate := output.Share(e.RateAsked) + " of its calls are to be measured"
	switch e.State {
	case rates.Off:
		rate = "it is off"
	case rates.Unseen:
		rate = "no call arrived from it; " + output.Share(e.RateAsked) + " of its calls would be measured"
	case rates.Overflow:
		rate = "it shares the overflow aggregate with others, since there are too many methods; " + rate
	case rates.Rare:
		rate = "too few records to know how much its calls differ; " + rate
	}
	if e.Shadow {
		rate += "; dry run (shadow): not applied"
	}
	return fmt.Sprintf("%s of %s: %s", e.Method, of, rate)
}

func samplerTable(e *rates.Explanation) *output.Table {
	var facts []fact
	row := func(what, value string) {
		if value != "" {
			facts = append(facts, fact{what, value})
		}
	}
	row("reason", e.Reason)
	row("rule", cmp.Or(e.Rule, "no rule matches"))
	row("tier", e.Tier)
	row("class", e.Class)
	row("mode", e.Mode)
	row("strategy", e.Strategy)
	row("score", e.Score)
	if e.State != rates.Unseen {
		row("traffic", perSecond(e.CallsPerSecond)+" calls/s, "+perSecond(e.RecordsPerSecond)+" records/s kept")
		row("called from outside", output.Known(e.EntryShare, output.Share))
		row("CPU time of a call", output.Known(e.MeanCPUNs, output.Nanos))
		if e.MeanWallNs != nil {
			row("wall time of a call", output.Nanos(*e.MeanWallNs))
		}
		spread := output.Known(e.Spread, func(x float64) string { return fmt.Sprintf("%.3g", x) })
		if spread != output.Unknown && e.SpreadOf != "" {
			spread += " (" + e.SpreadOf + ")"
		}
		row("spread, sd / mean", spread)
	}
	row("rate asked", output.Share(e.RateAsked))
	row("rate in force", output.Known(e.RateInForce, output.Share))
	if e.ErrorOfDay != nil {
		row("error of a day's total", output.Share(*e.ErrorOfDay))
		row("with twice the records", output.Known(e.ErrorOfDayDouble, output.Share))
	}
	return factTable(headline(e), facts)
}

func perSecond(x float64) string {
	if x >= 100 {
		return output.Count(x)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
