//go:build !race

package sim

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// A short form of the tables of make sim: naive methods have hundreds of false alarms; the pipeline has none, and
// finds nearly all methods that clearly changed.
func TestPipeline_FindsOnlyChanges(t *testing.T) {
	plan := Plan{Methods: 150, Changed: 0.2, Effects: []float64{0.5}}
	s := Count(plan, 22, 2, []Kind{Pipeline(evidence.Defaults())}, nil)[0]
	if s.Unchanged != 240 || s.False > 0 {
		t.Errorf("%d of %d unchanged methods raised", s.False, s.Unchanged)
	}
	var clear Power
	for _, p := range s.Power[0.5][2:] {
		clear.merge(p)
	}
	if clear.Methods < 20 || clear.Found < clear.Methods || clear.MedianMinutes() > 20 {
		t.Errorf("of +50%% with 3000 records and more: %+v", clear)
	}
}

func TestPipeline_FindsWholeService(t *testing.T) {
	found, also := ServiceFound(Plan{Methods: 60, Uniform: 0.3}, 23, 1, nil)
	if found != 1 || also != 0 {
		t.Errorf("found in %d of 1, methods raised in addition in %d", found, also)
	}
}

func TestTable_JSON(t *testing.T) {
	var table Table
	table.Powers(Score{Power: map[float64][]Power{0.5: make([]Power, len(Buckets))}}, []float64{0.5, 0.1})
	table.Lower("nothing", math.Inf(1), "s", 1)
	table.Higher("something", 1, "%", None)
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var back Table
	if err := json.Unmarshal(text, &back); err != nil || len(back.Results) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	if last := back.Results[len(back.Results)-1]; last.Name != "something" || last.Goal != nil {
		t.Errorf("last figure %+v", last)
	}
}

// Roll-outs that end early get correct verdicts from the data they have.
func TestPipeline_RollOutEndsEarly(t *testing.T) {
	e := CountEnded(Plan{Methods: 150, Changed: 0.2, Effects: []float64{0.5}}, 25, 1, evidence.Defaults(), nil)
	if e.Unchanged != 120*len(Ends) || e.False > 0 || e.Clear < 30 || e.Found < e.Clear*9/10 || e.OneLook == 0 || e.OneLook > e.Found {
		t.Errorf("%+v", e)
	}
}
