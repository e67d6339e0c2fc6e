// Package capture reads an OTLP request that was captured, and reports what the receiver finds
// wrong with it and which rows it becomes.
//
// Its invariant: it reads the form that a client sent, protobuf or JSON, packed or not, and holds no more of
// it than a bound.
//
// It has no rules of its own for what is wrong: those of the receiver method_spans count.
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
