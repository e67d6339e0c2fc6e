// Package capture reads a captured OTLP request, and reports the receiver's findings and the rows
// that the request becomes.
//
// Its invariant: it reads protobuf and JSON, compressed with gzip or not, and never holds more than
// maxBytes of a request.
//
// It has no validation rules of its own; it uses those of the receiver method_spans and of the warehouse.
package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// maxBytes bounds a request in bytes, before and after decompression.
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

// parse decides by the whole of data whether it is JSON: a protobuf message can begin like JSON.
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
