package spans

import "testing"

func TestThresholds(t *testing.T) {
	for p, want := range map[float64]string{1: "0", 0.5: "8", 0.25: "c", 0.75: "4", 1.0 / 16: "f"} {
		if got := ThresholdOf(p).text; got != want {
			t.Errorf("p = %v: th %q, want %q", p, got, want)
		}
	}
	if got := ThresholdOf(1 - 1.0/(1<<52)).text; got != "0000000000001" {
		t.Errorf("p just below 1: th %q", got)
	}
}
