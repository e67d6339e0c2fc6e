package bigquery

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Date is a query argument of type DATE.
type Date string

// Records is a query argument that is a list of structs: a small table. nil is NULL.
type Records struct {
	Fields []ArgField
	Rows   [][]any
}

// namedArguments converts args to the named parameters of a query job.
func namedArguments(args map[string]any) ([]NamedArgument, error) {
	var out []NamedArgument
	for _, name := range slices.Sorted(maps.Keys(args)) {
		a := NamedArgument{Name: name}
		var err error
		if table, ok := args[name].(Records); ok {
			err = table.setArgument(&a)
		} else {
			a.Value.Value, a.Type.Type, err = scalarArgument(args[name])
		}
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// scalarArgument returns v as text and its BigQuery type. nil becomes a NULL of type STRING.
func scalarArgument(v any) (*string, string, error) {
	text := func(s string) *string { return &s }
	switch v := v.(type) {
	case nil:
		return nil, "STRING", nil
	case string:
		return text(v), "STRING", nil
	case int64:
		return text(strconv.FormatInt(v, 10)), "INT64", nil
	case int:
		return text(strconv.Itoa(v)), "INT64", nil
	case float64:
		return text(strconv.FormatFloat(v, 'g', -1, 64)), "FLOAT64", nil
	case bool:
		return text(strconv.FormatBool(v)), "BOOL", nil
	case Date:
		return text(string(v)), "DATE", nil
	case time.Time:
		return text(v.UTC().Format("2006-01-02 15:04:05.999999-07:00")), "TIMESTAMP", nil
	}
	return nil, "", fmt.Errorf("a %T can't be an argument", v)
}

// setArgument sets the type and the value of a.
func (r Records) setArgument(a *NamedArgument) error {
	a.Type = ArgType{Type: "ARRAY", ArrayType: &ArgType{Type: "STRUCT", StructTypes: r.Fields}}
	a.Value.ArrayValues = []ArgValue{}
	for _, row := range r.Rows {
		value := ArgValue{StructValues: map[string]ArgValue{}}
		for i, f := range r.Fields {
			text, _, err := scalarArgument(row[i])
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			value.StructValues[f.Name] = ArgValue{Value: text}
		}
		a.Value.ArrayValues = append(a.Value.ArrayValues, value)
	}
	return nil
}
