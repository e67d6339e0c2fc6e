// Package capture reads an OTLP request that was captured, and says which rows it becomes.
//
// Its invariant: it reads the form that a client sent, protobuf or JSON, packed or not, and holds no more of
// it than a bound.
//
// It does not check the request: the receiver method_spans does.
package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// maxBytes is how large a request may be, in bytes, packed or not.
const maxBytes = 64 << 20

// Read reads a request.
func Read(from io.Reader) (ptrace.Traces, error) {
	data, err := readAtMost(from)
	if err != nil {
		return ptrace.Traces{}, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpack, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return ptrace.Traces{}, err
		}
		if data, err = readAtMost(unpack); err != nil {
			return ptrace.Traces{}, err
		}
	}
	return parse(data)
}

func readAtMost(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("want a request of at most %d MiB", maxBytes>>20)
	}
	return data, err
}

// parse tells JSON from protobuf by the whole of it: a protobuf message may begin
// like JSON.
func parse(data []byte) (td ptrace.Traces, err error) {
	if text := bytes.TrimSpace(data); bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
		td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	} else {
		td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
	}
	switch {
	case err != nil:
		return td, fmt.Errorf("want an OTLP ExportTraceServiceRequest in protobuf or JSON: %w", err)
	case td.SpanCount() == 0:
		return td, errors.New("want an OTLP ExportTraceServiceRequest in protobuf or JSON, found no span")
	}
	return td, nil
}

// StoredRows are the rows of one kind and basis that a request becomes.
type StoredRows struct {
	Kind        string  `json:"kind"`
	WeightBasis string  `json:"weight_basis"`
	Rows        int     `json:"rows"`
	Calls       float64 `json:"calls"`
	Measured    int64   `json:"measured"`
	CPUMeasured int64   `json:"cpu_measured"`
}

// StoredAs adds up the rows that spans become, after the receiver.
func StoredAs(td ptrace.Traces) []StoredRows {
	stored := []StoredRows{}
	items, _ := methodspan.NewConverter().Items(td)
	for _, item := range items {
		for i := range item.Rows {
			r := &item.Rows[i]
			at := slices.IndexFunc(stored, func(s StoredRows) bool { return s.Kind == r.Kind && s.WeightBasis == r.WeightBasis })
			if at < 0 {
				at = len(stored)
				stored = append(stored, StoredRows{Kind: r.Kind, WeightBasis: r.WeightBasis})
			}
			s := &stored[at]
			s.Rows++
			s.Calls += r.Calls
			s.Measured += r.Measured
			s.CPUMeasured += r.CPUMeasured
		}
	}
	return stored
}
