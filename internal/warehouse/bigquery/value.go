package bigquery

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

// valueOf converts a value of a result to int64, float64, bool, string, []byte, time.Time, []any or
// map[string]any. NULL becomes nil.
func valueOf(v any, f Field) (any, error) {
	if v == nil {
		return nil, nil
	}
	if f.Mode == "REPEATED" {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("want a list, found %T", v)
		}
		element := f
		element.Mode = ""
		out := make([]any, len(list))
		for i, e := range list {
			wrapped, _ := e.(map[string]any)
			var err error
			if out[i], err = valueOf(wrapped["v"], element); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if f.Type == "RECORD" || f.Type == "STRUCT" {
		return recordOf(v, f.Fields)
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("want a text, found %T", v)
	}
	switch f.Type {
	case "INTEGER", "INT64":
		return strconv.ParseInt(s, 10, 64)
	case "FLOAT", "FLOAT64":
		return strconv.ParseFloat(s, 64)
	case "BOOLEAN", "BOOL":
		return strconv.ParseBool(s)
	case "BYTES":
		return base64.StdEncoding.DecodeString(s)
	case "TIMESTAMP":
		micros, err := strconv.ParseInt(s, 10, 64)
		return time.UnixMicro(micros).UTC(), err
	}
	return s, nil // NUMERIC, JSON, DATE, DATETIME, TIME and others stay text
}

func recordOf(v any, fields []Field) (any, error) {
	record, _ := v.(map[string]any)
	list, ok := record["f"].([]any)
	if !ok || len(list) != len(fields) {
		return nil, fmt.Errorf("want a struct of %d fields, found %T", len(fields), v)
	}
	out := make(map[string]any, len(fields))
	for i, f := range fields {
		wrapped, _ := list[i].(map[string]any)
		value, err := valueOf(wrapped["v"], f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		out[f.Name] = value
	}
	return out, nil
}
