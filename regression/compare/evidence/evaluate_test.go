package evidence_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

func wantAlerts(t *testing.T, r *evidence.Result, want ...string) {
	t.Helper()
	if got := alerted(r); !slices.Equal(got, want) {
		t.Errorf("alerts %q, want %q", got, want)
		for _, v := range append(slices.Clone(r.Methods), r.Calls...) {
			t.Logf("%s: %s: %s", v.FullName, v.State, v.Reason)
		}
	}
}

func TestEvaluate_NothingChanged(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	for seed := range uint64(5) {
		wantAlerts(t, watch(t, newShop().deployment(seed), evidence.Defaults()))
	}
}

// The leaf that got more expensive is reported; its callers are explained by it.
func TestEvaluate_DeepestMethodAlerts(t *testing.T) {
	s := newShop()
	s.at("Parse").self[1] *= 1.3
	r := watch(t, s.deployment(1), evidence.Defaults())
	wantAlerts(t, r, "regression Parse")
	parse := verdictOf(t, r, "Parse")
	if math.Abs(*parse.ChangePercent-30) > 5 || parse.Interval[0] > 30 || parse.Interval[1] < 30 || *parse.EValue < 1000 {
		t.Errorf("change %+v", parse)
	}
	for caller, callee := range map[string]string{"Price": "Parse", "Total": "Price"} {
		v := verdictOf(t, r, caller)
		if v.State != evidence.Explained || !slices.Contains(v.Explains, callee) {
			t.Errorf("%s is %s because of %v, want explained by %s", caller, v.State, v.Explains, callee)
		}
	}
	// 2 calls of Parse per call of Total; 300 calls of Total in each of 6 instances and 5 minutes.
	if want := 0.3 * 4000 * 2 * 300 * 6 * 288; math.Abs(parse.ExcessPerDay/want-1) > 0.2 {
		t.Errorf("excess %.4g ns a day, want about %.4g", parse.ExcessPerDay, want)
	}
}

// A caller whose own code also got more expensive is reported next to its callee.
func TestEvaluate_CallerAndCalleeRegressed(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	s := newShop()
	s.at("Parse").self[1] *= 1.3
	s.at("Total").self[1] *= 4
	r := watch(t, s.deployment(2), evidence.Defaults())
	got := alerted(r)
	slices.Sort(got)
	if !slices.Equal(got, []string{"regression Parse", "regression Total"}) {
		t.Errorf("alerts %q", got)
	}
}

// With few instances on busy hosts, noise makes a caller's growth larger or smaller than that of its callee. The callee
// explains it unless the caller's own growth is significant; then the caller is reported too.
func TestEvaluate_CallerExplainedDespiteNoise(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	o := evidence.Defaults()
	o.Evaluations = 1
	const seeds = 40
	for _, c := range []struct {
		upset, own float64
		told       [2]int // minimum and maximum number of deployments that report Total as well as Parse
	}{
		{0.04, 1, [2]int{0, 0}},
		{0.02, 1, [2]int{0, 0}},
		{0, 1.5, [2]int{5, seeds}}, // a fifth of its growth is its own
		{0, 2, [2]int{33, seeds}},
		{0.02, 3, [2]int{38, seeds}},
		{0.04, 4, [2]int{36, seeds}},
	} {
		told := 0
		for seed := range uint64(seeds) {
			s := newShop()
			s.bases, s.heads, s.upset = 3, 3, c.upset
			s.at("Parse").self[1] *= 1.5
			s.at("Total").self[1] *= c.own
			r, _, err := evidence.Evaluate(s.deployment(seed), o, evidence.Memory{})
			if err != nil {
				t.Fatal(err)
			}
			got := alerted(r)
			if !slices.Contains(got, "regression Parse") || slices.Contains(got, "regression Price") {
				t.Errorf("upset by %v, seed %d: alerts %q", c.upset, seed, got)
			}
			if slices.Contains(got, "regression Total") {
				told++
			}
		}
		if told < c.told[0] || told > c.told[1] {
			t.Errorf("upset by %v, %v times its own code: told of Total in %d of %d, want %v", c.upset, c.own, told, seeds, c.told)
		}
	}
}

// In a service of few methods, a method that is called a hundred times as often as the others does not decide the
// common change, neither when it gets cheaper nor when it gets more expensive.
func TestEvaluate_BusiestMethodNotCommonChange(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	for _, change := range []float64{0.7, 1.4} {
		s := newShop()
		s.methods = s.methods[:6]
		for i := range s.methods {
			s.methods[i].entry = [2]float64{100, 100}
		}
		s.methods[5].calls = [2]map[string]float64{{"busy": 100}, {"busy": 100}}
		s.methods = append(s.methods, shopMethod{name: "busy", self: [2]float64{1000, 1000 * change}})
		r := watch(t, s.deployment(8), evidence.Defaults())
		if change > 1 {
			wantAlerts(t, r, "regression busy")
		} else {
			wantAlerts(t, r)
		}
		if v := verdictOf(t, r, "other0"); math.Abs(*v.ChangePercent) > 10 {
			t.Errorf("other0 changed by %+.1f%%", *v.ChangePercent)
		}
	}
}

func TestEvaluate_WholeServiceOneAlert(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	s := newShop()
	for i := range s.methods {
		s.methods[i].self[1] *= 1.4
	}
	r := watch(t, s.deployment(3), evidence.Defaults())
	wantAlerts(t, r, "whole_service whole service")
	if math.Abs(*r.Service.ChangePercent-40) > 10 {
		t.Errorf("the service changed by %v%%", *r.Service.ChangePercent)
	}
}

// A change of the caller mix changes the plain mean. It is reported separately and raises no method.
func TestEvaluate_CallerMixChanged(t *testing.T) {
	s := newShop()
	s.methods = append(s.methods,
		shopMethod{name: "Cheap", self: [2]float64{10, 10}, entry: [2]float64{300, 100}, calls: [2]map[string]float64{{"Shared": 1}, {"Shared": 1}}},
		shopMethod{name: "Shared", self: [2]float64{2000, 2000}, entry: [2]float64{100, 300}})
	d := s.deployment(4)
	for i := range d.Cells { // calls from outside do three times as much work
		c := &d.Cells[i]
		if d.Methods[c.Method] == "Shared" && c.Caller == 0 {
			c.Sum, c.Capped, c.Log = 3*c.Sum, 3*c.Capped, c.Log+c.Weight*math.Log(3)
		}
	}
	r := watch(t, d, evidence.Defaults())
	wantAlerts(t, r)
	// The means are 1.5 and 2.5 times the cheap one, all because of the mix.
	if v := verdictOf(t, r, "Shared"); math.Abs(*v.MixPercent-200.0/3) > 10 || math.Abs(*v.ChangePercent) > 5 {
		t.Errorf("mix %v%%, change %v%%", *v.MixPercent, *v.ChangePercent)
	}
}

func TestEvaluate_CostMoved(t *testing.T) {
	s := newShop()
	s.at("Tax").self[1] -= 1500
	s.at("Parse").self[1] += 750 // two calls
	r := watch(t, s.deployment(5), evidence.Defaults())
	wantAlerts(t, r)
	v := verdictOf(t, r, "Price")
	if v.State != evidence.Moved && v.State != evidence.Explained {
		t.Errorf("Price is %s", v.State)
	}
	if v := verdictOf(t, r, "Parse"); v.State != evidence.Moved {
		t.Errorf("Parse is %s: %s", v.State, v.Reason)
	}
}

// A query in a loop makes no single call more expensive.
func TestEvaluate_MoreCalls(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	s := newShop()
	s.at("Price").calls[1] = map[string]float64{"Parse": 3}
	r := watch(t, s.deployment(6), evidence.Defaults())
	wantAlerts(t, r, "more_calls Price -> Parse")
	if v := verdictOf(t, r, "Price"); v.State != evidence.Explained || v.Explains[0] != "more calls of Parse" {
		t.Errorf("Price is %s because of %v", v.State, v.Explains)
	}
	if v := verdictOf(t, r, "Parse"); v.State != evidence.NotProven {
		t.Errorf("Parse is %s, a call of it costs what it did", v.State)
	}
}

// A method's name can look like a pair. An earlier evaluation of the one does not confirm the other.
func TestEvaluate_MethodNamedLikePair(t *testing.T) {
	like, pair := newShop(), newShop()
	for _, s := range []*shop{like, pair} {
		s.methods = append(s.methods, shopMethod{name: "Price -> Parse", self: [2]float64{1000, 1000}, entry: [2]float64{200, 200}})
	}
	like.at("Price -> Parse").self[1] *= 2
	pair.at("Price").calls[1] = map[string]float64{"Parse": 3}
	d := like.deployment(20)
	_, memory, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if err != nil || memory.InARow[""]["Price -> Parse"] != 1 {
		t.Fatal(memory, err)
	}
	shown := pair.deployment(20)
	memory.Seen = memory.Seen.Add(-shown.Bucket)
	r, memory, err := evidence.Evaluate(shown, evidence.Defaults(), memory)
	if err != nil || memory.InARow["Price"]["Parse"] != 1 {
		t.Fatal(memory, err)
	}
	wantAlerts(t, r)
}

func TestEvaluate_WarmUpExcluded(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	s := newShop()
	s.started, s.slow = 3, 0.5
	d := s.deployment(7)
	wantAlerts(t, watch(t, d, evidence.Defaults()))
	o := evidence.Defaults()
	o.WarmUp = 0
	d.Buckets = 6
	r := watch(t, d, o)
	if *r.Service.ChangePercent < 10 {
		t.Errorf("with the warm-up the service changed by %v%%", *r.Service.ChangePercent)
	}
}

func TestEvaluate_NotJudged(t *testing.T) {
	s := newShop()
	s.methods = append(s.methods,
		shopMethod{name: "Rare", self: [2]float64{10, 10}, entry: [2]float64{0.2, 0.2}},
		shopMethod{name: "New", self: [2]float64{10, 10}, entry: [2]float64{0, 100}},
		shopMethod{name: "Gone", self: [2]float64{10, 10}, entry: [2]float64{100, 0}})
	r := watch(t, s.deployment(8), evidence.Defaults())
	for method, want := range map[string]evidence.VerdictState{"Rare": evidence.FewRecords, "New": evidence.New, "Gone": evidence.Gone} {
		if v := verdictOf(t, r, method); v.State != want || v.State.Judged() || !strings.HasPrefix(v.Reason, "~ ") {
			t.Errorf("%s is %s (%s), want %s", method, v.State, v.Reason, want)
		}
	}
}

// A verdict of no change contains the change that would have been found.
func TestEvaluate_ReportsPower(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	r := watch(t, newShop().deployment(9), evidence.Defaults())
	for _, v := range r.Methods {
		if v.State != evidence.NotProven {
			continue
		}
		if !(*v.Seen90Percent > 2 && *v.Seen90Percent < 50) || !strings.Contains(v.Reason, "would have been seen with 90% probability") {
			t.Errorf("%s: %v%%: %s", v.FullName, *v.Seen90Percent, v.Reason)
		}
	}
}

func TestEvaluate_PendingUntilConfirmed(t *testing.T) {
	s := newShop()
	s.at("Tax").self[1] *= 2
	d := s.deployment(10)
	r, memory, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	if v := verdictOf(t, r, "Tax"); v.State != evidence.Pending || len(r.Alerts) != 0 {
		t.Errorf("after one look Tax is %s, alerts %v", v.State, alerted(r))
	}
	text, err := json.Marshal(memory)
	if err != nil {
		t.Fatal(err)
	}
	var stored evidence.Memory
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	// The same buckets are the same evaluation; one more bucket is a new one.
	r, again, err := evidence.Evaluate(d, evidence.Defaults(), stored)
	if err != nil || len(r.Alerts) != 0 || !reflect.DeepEqual(again.InARow, stored.InARow) {
		t.Errorf("the same look counted twice: %v %v %v", again, alerted(r), err)
	}
	d.Buckets++
	r, _, err = evidence.Evaluate(d, evidence.Defaults(), again)
	if err != nil || verdictOf(t, r, "Tax").State != evidence.Regressed {
		t.Errorf("after two looks: %v %v", alerted(r), err)
	}
}

// Neither the order of cells nor the unit of cost changes the result.
func TestEvaluate_CellOrderAndUnitInvariant(t *testing.T) {
	s := newShop()
	s.at("Tax").self[1] *= 1.15
	d := s.deployment(11)
	want, _, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	shuffled := *d
	shuffled.Cells = slices.Clone(d.Cells)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(d.Cells), func(i, j int) {
		shuffled.Cells[i], shuffled.Cells[j] = shuffled.Cells[j], shuffled.Cells[i]
	})
	scaled := *d
	scaled.Cells = slices.Clone(d.Cells)
	for i := range scaled.Cells {
		c := &scaled.Cells[i]
		c.Sum, c.Capped, c.Log = 1000*c.Sum, 1000*c.Capped, c.Log+c.Weight*math.Log(1000)
	}
	for name, other := range map[string]*evidence.Deployment{"shuffled": &shuffled, "scaled": &scaled} {
		got, _, err := evidence.Evaluate(other, evidence.Defaults(), evidence.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got.Methods {
			if w := want.Methods[i]; v.State != w.State || math.Abs(figure(v.ChangePercent)-figure(w.ChangePercent)) > 1e-7 || math.Abs(math.Log(figure(v.EValue)/figure(w.EValue))) > 1e-6 {
				t.Errorf("%s: %s: %+v, want %+v", name, v.FullName, v, w)
			}
		}
	}
}

func TestEvaluate_Deterministic(t *testing.T) {
	d := newShop().deployment(12)
	a, _, _ := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	b, _, _ := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if !reflect.DeepEqual(a, b) {
		t.Error("two looks at the same cells differ")
	}
}

func TestEvaluate_OneInstanceEachWarns(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	s := newShop()
	s.bases, s.heads = 1, 1
	d := s.deployment(13)
	d.Overlap = evidence.Sequential
	r := watch(t, d, evidence.Defaults())
	if len(r.Warnings) != 2 || !r.Service.State.Judged() {
		t.Errorf("warnings %q, service %s", r.Warnings, r.Service.State)
	}
	wantAlerts(t, r)
}

func TestEvaluate_InvalidInput(t *testing.T) {
	bad := evidence.Options{WarmUp: -time.Second, Alpha: 2}
	_, _, err := evidence.Evaluate(newShop().deployment(1), bad, evidence.Memory{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"WarmUp", "Records", "Evaluations", "Alpha", "Inflation", "Explained"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	d := newShop().deployment(1)
	d.Cells[3].Instance = 99
	if _, _, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{}); err == nil || !strings.Contains(err.Error(), "cell 3") {
		t.Errorf("a cell of no instance: %v", err)
	}
	d = newShop().deployment(1)
	d.Cells[4].Log = math.Inf(-1) // a call of 0 ns
	if _, _, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{}); err == nil || !strings.Contains(err.Error(), "cell 4") {
		t.Errorf("a sum without end: %v", err)
	}
}

// Very uncertain figures can still be written as JSON.
func TestResult_MarshalsUncertainFigures(t *testing.T) {
	s := newShop()
	s.bases, s.heads, s.buckets = 2, 2, 3
	for i := range s.methods {
		s.methods[i].entry = [2]float64{8, 8}
	}
	for seed := range uint64(20) {
		d := s.deployment(seed)
		r := rand.New(rand.NewPCG(seed, 2))
		for i := range d.Cells { // costs differ by many orders of magnitude
			c, z := &d.Cells[i], 5*r.NormFloat64()
			c.Sum, c.Capped, c.Log = c.Sum*math.Exp(z), c.Capped*math.Exp(z), c.Log+c.Weight*z
		}
		o := evidence.Defaults()
		o.Records = 1
		result, _, err := evidence.Evaluate(d, o, evidence.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(result); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// A change that costs less than the share asked for is no alert, neither of a cost nor of calls.
func TestEvaluate_LeastShare(t *testing.T) {
	for share, want := range map[float64][]string{0: {"regression other0", "more_calls Price -> Parse"}, 0.3: nil} {
		s := newShop()
		s.at("other0").self[1] *= 1.5 // 1% of the cost
		s.at("Price").calls[1] = map[string]float64{"Parse": 1.2}
		o := evidence.Defaults()
		o.LeastShare = share
		var memory evidence.Memory
		d := s.deployment(5)
		var r *evidence.Result
		for d.Buckets = 11; d.Buckets <= 12; d.Buckets++ {
			var err error
			if r, memory, err = evidence.Evaluate(d, o, memory); err != nil {
				t.Fatal(err)
			}
		}
		for _, kind := range want {
			if !slices.Contains(alerted(r), kind) {
				t.Errorf("share %v: %q, want %s", share, alerted(r), kind)
			}
		}
		if v := verdictOf(t, r, "other0"); want == nil && (len(r.Alerts) > 0 || v.State != evidence.Small || v.Doubt == "") {
			t.Errorf("share %v: alerts %q, %s: %s", share, alerted(r), v.State, v.Reason)
		}
	}
}

// A method that costs less than the smallest share cannot be raised, so it is no hypothesis, and the others need less
// evidence.
func TestEvaluate_HypothesesAboveShare(t *testing.T) {
	needed := func(share float64) float64 {
		s := newShop()
		s.at("Tax").self[1] *= 2
		o := evidence.Defaults()
		o.LeastShare = share
		r := watch(t, s.deployment(6), o)
		if !slices.Contains(alerted(r), "regression Tax") {
			t.Errorf("share %v: %q", share, alerted(r))
		}
		return figure(verdictOf(t, r, "Price").NeededEValue)
	}
	all, expensive := needed(0), needed(0.05) // 12 of 16 methods cost 3% each
	if all < 2*expensive || expensive <= 0 {
		t.Errorf("needed e-value %v with all methods, %v with the expensive ones", all, expensive)
	}
}
