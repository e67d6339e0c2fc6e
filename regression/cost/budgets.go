package cost

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/perday"
)

// Budget limits the dollars per day of a scope or an owner.
type Budget struct {
	Name string
	rules.Scope
	Owner     string
	USDPerDay float64
}

// Budgets is the content of a budgets file.
type Budgets struct{ Budgets []Budget }

// ParseBudgets parses a budgets file. It converts usd_per_month to dollars per day.
func ParseBudgets(data []byte) (*Budgets, []configfile.Warning, error) {
	out := &Budgets{}
	warnings, err := rulefile.Parse(data, rulefile.List{
		Name: "budgets", Fields: []string{"name", "namespace", "service", "environment", "class", "owner", "usd_per_day", "usd_per_month"},
		Read: func(e *rulefile.Entry) {
			b := Budget{
				Name:  e.Required("name"),
				Scope: rules.Scope{Namespace: e.Text("namespace"), Service: e.Text("service"), Environment: e.Text("environment"), Class: e.Text("class")},
				Owner: e.Text("owner"), USDPerDay: e.Positive("usd_per_day"),
			}
			month := e.Positive("usd_per_month")
			switch {
			case e.Has("usd_per_day") == e.Has("usd_per_month"):
				e.Fault("", "must have one of usd_per_day and usd_per_month", "both or none", "")
			case month > 0:
				b.USDPerDay = month / perday.DaysPerMonth
			}
			if !e.Faulty() && slices.ContainsFunc(out.Budgets, func(x Budget) bool { return x.Name == b.Name }) {
				e.Fault("name", "must be unique", configfile.Quote(b.Name), "it identifies alerts")
			}
			if !e.Faulty() {
				out.Budgets = append(out.Budgets, b)
			}
		}})
	if err != nil {
		return nil, nil, err
	}
	return out, warnings, nil
}

// Spending is a budget with the amount spent.
type Spending struct {
	Name   string `json:"name"`
	Budget Budget `json:"-"`
	// What names the costs that were added up: cores x time, process CPU or self costs.
	What       string  `json:"what"`
	PlannedUSD float64 `json:"planned_usd_per_day"`
	// SpentUSD and its interval are null where nothing has a price.
	SpentUSD *float64    `json:"spent_usd_per_day"`
	Interval *[2]float64 `json:"interval"`
	Records  int64       `json:"records"`
	// GenericPrice is set if a part of SpentUSD uses a public list price.
	GenericPrice bool `json:"generic_price"`
	// AssumedCalls is the part of Calls whose number is a lower bound. These calls get no dollars unless the
	// caller asks for it. Both fields count methods with CPU time and are set where self costs are added up.
	AssumedCalls float64 `json:"assumed_calls,omitempty"`
	Calls        float64 `json:"calls,omitempty"`
	// AtLeast is the reason why SpentUSD is only a lower bound, or empty. A lower bound can prove a budget
	// broken, never kept, so Interval is set only if the budget is broken.
	AtLeast string `json:"at_least,omitempty"`
	// Broken is set if the lower end of the interval exceeds PlannedUSD.
	Broken bool `json:"broken"`
}

// unknown reports whether the budget can be called neither kept nor broken.
func (s *Spending) unknown() bool { return s.SpentUSD == nil || s.AtLeast != "" && !s.Broken }

// Spend compares a budget with a table by method. A budget with a class or an owner adds up self costs; its
// interval assumes that the errors of all methods have the same sign, so it is too wide rather than too
// narrow. Any other budget adds up the bills of services, idle cores included. Where process rows lack the
// number of cores, process CPU is a lower bound of the bill.
func (r *Table) Spend(b Budget) Spending {
	s := Spending{Name: b.Name, Budget: b, PlannedUSD: b.USDPerDay}
	if r.ObservedDays <= 0 {
		return s
	}
	selfCosts := true
	if b.Class != "" || b.Owner != "" {
		r.spendOnMethods(&s)
	} else {
		r.spendOnServices(&s)
		selfCosts = s.What == "" || strings.Contains(s.What, "self costs")
	}
	s.Broken = s.Interval != nil && s.Interval[0] > s.PlannedUSD
	if selfCosts {
		r.addAssumedCalls(&s)
	}
	return s
}

// addAssumedCalls counts the calls whose number is a lower bound. The true spending is higher by their cost.
func (r *Table) addAssumedCalls(s *Spending) {
	calls, assumed := 0.0, 0.0
	for i := range r.Methods {
		if l := &r.Methods[i]; l.SelfCoreHours != nil && s.covers(l) {
			calls, assumed = calls+l.Calls, assumed+l.AssumedCalls
		}
	}
	if assumed == 0 {
		return
	}
	s.Calls, s.AssumedCalls = calls, assumed
	if s.AtLeast != "" {
		s.AtLeast += "; "
	}
	if s.AtLeast += assumedCallsNote(assumed); !s.Broken {
		s.Interval = nil
	}
}

// covers reports whether the scope and owner of the budget match the line.
func (s *Spending) covers(l *Line) bool {
	b := &s.Budget
	return (b.Owner == "" || l.Owner == b.Owner) && b.Matches(l.Namespace, l.Name, l.Environment, l.Class)
}

func (r *Table) spendOnMethods(s *Spending) {
	s.What = "self costs"
	spent, low, high := 0.0, 0.0, 0.0
	for i := range r.Methods {
		l := &r.Methods[i]
		usd := l.SelfUSDPerDay
		if l.BelowResolution { // part of the sum, within its error
			usd = r.dollarsPer(PerDay, l, l.hiddenUSD)
		}
		if !s.covers(l) || usd == nil {
			continue
		}
		s.Records += l.CPUMeasured
		s.GenericPrice = s.GenericPrice || l.GenericPrice
		spent += *usd
		s.SpentUSD = new(spent)
		if l.usdError == nil { // measured in one time bucket: proves nothing
			low, high = low-math.Abs(*usd), high+math.Abs(*usd)
			continue
		}
		low, high = low+l.usdError[0]/l.days, high+l.usdError[1]/l.days
	}
	if s.SpentUSD != nil {
		s.Interval = &[2]float64{*s.SpentUSD + low, *s.SpentUSD + high}
	}
}

func (r *Table) spendOnServices(s *Spending) {
	var what []string
	var coreless, intervals int64
	spent := 0.0
	for i := range r.Services {
		service := &r.Services[i]
		if !s.Budget.Matches(service.Namespace, service.Name, service.Environment, "") {
			continue
		}
		usd := 0.0
		switch {
		case service.PaidUSD != nil:
			usd = *service.PaidUSD
			what = append(what, "cores x time")
		case service.ProcessUSD != nil:
			usd = service.leastPaidUSD
			coreless += service.coreless
			intervals += service.intervals
			if what = append(what, "process CPU"); service.coreless < service.intervals {
				what = append(what, "cores x time")
			}
		case service.AttributedUSD > 0:
			usd = service.AttributedUSD
			what = append(what, "self costs")
		default:
			continue
		}
		perDay, ok := service.basis.PerDay(usd)
		if !ok {
			continue
		}
		spent += perDay
		s.SpentUSD = new(spent)
		s.GenericPrice = s.GenericPrice || service.GenericPrice
	}
	if s.SpentUSD != nil {
		slices.Sort(what)
		s.What = strings.Join(slices.Compact(what), " and ")
		if coreless > 0 {
			s.AtLeast = fmt.Sprintf("%d of %d process rows lack the number of cores, so idle cores are unknown", coreless, intervals)
		}
		if coreless == 0 || *s.SpentUSD > s.PlannedUSD {
			s.Interval = &[2]float64{*s.SpentUSD, *s.SpentUSD} // measured, not estimated
		}
	}
}

// selection describes the scope and owner of the budget.
func (b *Budget) selection() string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"owner", b.Owner}, {"class", b.Class}, {"service", b.Service}, {"namespace", b.Namespace}, {"environment", b.Environment},
	} {
		if part.value != "" {
			parts = append(parts, fmt.Sprintf("%s %s", part.name, part.value))
		}
	}
	if parts == nil {
		return "everything"
	}
	return strings.Join(parts, ", ")
}
