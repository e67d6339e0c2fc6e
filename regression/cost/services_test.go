package cost

import "testing"

func TestReconcile_Rest(t *testing.T) {
	for _, c := range []struct{ whole, part, want float64 }{
		{3, 1, 2}, {1, 3, -2}, {0, 0, 0}, {0.3, 0.1 + 0.2, 0}, {1e-12, 0, 1e-12}, {1e6, 999999.5, 0.5}, {0, 1e-12, -1e-12},
	} {
		if got := unattributed(c.whole, c.part); got != c.want {
			t.Errorf("%v of %v leaves %v, want %v", c.part, c.whole, got, c.want)
		}
	}
}
