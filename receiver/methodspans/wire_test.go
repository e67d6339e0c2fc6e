package methodspans

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// wireDir holds the test vectors of docs/reference/wire.md: requests and their stored rows.
const wireDir = "../../sdk/testdata/wire"

// wireRow is a row as NAME.stored.json has it, by the names of the columns.
type wireRow struct {
	Kind        string  `json:"kind"`
	Class       string  `json:"class,omitempty"`
	Method      string  `json:"method,omitempty"`
	Caller      string  `json:"caller,omitempty"`
	WeightBasis string  `json:"weight_basis"`
	Calls       float64 `json:"calls"`
	Measured    int64   `json:"measured"`
	CPUMeasured int64   `json:"cpu_measured"`
	Errors      float64 `json:"errors"`
	WallNS      int64   `json:"wall_ns"`
	CPUNS       *int64  `json:"cpu_ns"`
	P           float64 `json:"p,omitempty"`
	CPUP        float64 `json:"cpu_p,omitempty"`
	CPUState    string  `json:"cpu_state,omitempty"`
	Stratum     string  `json:"stratum,omitempty"`
}

type wireStored struct {
	Rows     []wireRow `json:"rows"`
	Findings []Finding `json:"findings"` // of corehour lint-otlp
}

// TestReceiver_WireVectors sends each vector over HTTP to a real receiver and compares the rows
// and the findings of lint with the vector's.
func TestReceiver_WireVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireDir, "*.json"))
	require.NoError(t, err)
	n := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasSuffix(name, ".stored") {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			request, err := os.ReadFile(file)
			require.NoError(t, err)
			r := start(t, testConfig(nil), nil)
			status, answer := r.post("/v1/traces", "application/json", request)
			require.Equal(t, 200, status, answer)
			got := wireStored{Rows: []wireRow{}, Findings: []Finding{}}
			for _, td := range r.sink.AllTraces() {
				items, _ := methodspan.NewConverter().Items(td)
				for _, item := range items {
					for _, row := range item.Rows {
						w := wireRow{row.Kind, row.Class, row.Method, row.Caller, row.WeightBasis, row.Calls, row.Measured, row.CPUMeasured, row.Errors, row.WallNS, nil, row.P, row.CPUP, row.CPUState, row.Stratum}
						if row.CPUMeasured > 0 {
							w.CPUNS = &row.CPUNS
						}
						got.Rows = append(got.Rows, w)
					}
				}
			}
			td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(request)
			require.NoError(t, err)
			got.Findings = append(got.Findings, lint(t, td)...)

			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetIndent("", " ")
			encoder.SetEscapeHTML(false)
			require.NoError(t, encoder.Encode(got))
			path := filepath.Join(wireDir, name+".stored.json")
			if *update {
				require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), text.String())
			assert.Equal(t, name == "faulty", len(got.Findings) > 0)
		})
	}
	assert.Equal(t, 5, n)
}
