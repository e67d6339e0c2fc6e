package alert

import "testing"

// Each kind of alert describes its levels in its own unit.
func TestLevels(t *testing.T) {
	for _, tc := range []struct {
		alert Alert
		want  Levels
	}{
		{Alert{Kind: Regression, Metric: "cpu", Base: 290e3, Head: 602e3}, Levels{"290us", "602us", "of cpu time per call"}},
		{Alert{Kind: Drift, Metric: "wall", Base: 1e6, Head: 2e6}, Levels{"1ms", "2ms", "of wall time per call"}},
		{Alert{Kind: MoreCalls, Metric: "cpu", Base: 2, Head: 6.012}, Levels{"2", "6.01", "calls per call of its caller"}},
		{Alert{Kind: MoreCalls, Metric: "cpu", Base: 1, Head: 1234}, Levels{"1", "1230", "calls per call of its caller"}},
		{Alert{Kind: WholeService, Metric: "cpu", ChangePercent: 5}, Levels{"", "+5.0%", "of the cpu time that all methods have in common"}},
		{Alert{Kind: Budget, Base: 10, Head: 12.5}, Levels{"$10.00", "$12.50", "a day"}},
	} {
		if got := tc.alert.Levels(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.alert.Kind, got, tc.want)
		}
	}
}
