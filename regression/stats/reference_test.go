package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// reference holds the figures in testdata/reference.json. testdata/reference.py computed them with numpy 2.4.6, scipy
// 1.17.1, statsmodels 0.15.0 and pymannkendall 1.4.3, or directly from the definition.
type reference struct {
	LogE []struct{ X, V, LogE float64 }
	DL   struct {
		Y, V    []float64
		Tau2, Q float64
	}
	MK struct {
		Series    []float64
		S         float64
		Var       float64
		P2, Slope float64
	}
	MKAR struct{ Rho, Ratio, Z, P1 float64 } `json:"mk_ar"`
	BH   []float64
	EDiv struct {
		Series []float64
		Best   int
		Q      float64
	}
}

func references(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.LogE) == 0 || len(r.MK.Series) == 0 || len(r.EDiv.Series) == 0 || r.MKAR.Ratio == 0 {
		t.Fatal("testdata/reference.json lacks figures")
	}
	return r
}

func TestLogE_EqualsIntegration(t *testing.T) {
	for _, c := range references(t).LogE {
		near(t, "log e", LogE(c.X, c.V, math.Log(1.01), []float64{0.02, 0.06, 0.2}), c.LogE, 1e-7)
	}
}

func TestDerSimonianLaird_EqualsStatsmodels(t *testing.T) {
	r := references(t).DL
	h := HeterogeneityOf(r.Y, r.V)
	near(t, "Q", h.Q, r.Q, 1e-10)
	near(t, "variance between", h.Between(), r.Tau2, 1e-12)
}

func TestMannKendall_EqualsPymannkendall(t *testing.T) {
	r := references(t)
	trend := MannKendall(r.MK.Series)
	near(t, "S", trend.S, r.MK.S, 0)
	near(t, "slope", trend.Slope, r.MK.Slope, 1e-12)
	near(t, "rho", trend.Rho, r.MKAR.Rho, 1e-12)
	near(t, "variance", trend.Variance, r.MK.Var*r.MKAR.Ratio, 1e-8)
	near(t, "p", trend.P, r.MKAR.P1, 1e-12)
}

func TestSplit_EqualsDefinition(t *testing.T) {
	r := references(t).EDiv
	at, q := Split(r.Series)
	if at != r.Best {
		t.Errorf("split at %d, want %d", at, r.Best)
	}
	near(t, "energy distance", q, r.Q, 1e-9)
}

// BH agrees with the adjusted p-values (Benjamini and Hochberg) that scipy computes for a worked example.
func TestBH_EqualsScipy(t *testing.T) {
	p := []float64{0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216}
	for _, alpha := range []float64{0.02, 0.05, 0.09, 0.11, 0.3} {
		got := BH(p, alpha)
		for i, adjusted := range references(t).BH {
			if got[i] != (adjusted <= alpha) {
				t.Errorf("alpha %v: p %v rejected: %v, adjusted p is %v", alpha, p[i], got[i], adjusted)
			}
		}
	}
}
