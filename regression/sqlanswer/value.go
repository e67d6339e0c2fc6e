package sqlanswer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// number formats a number without an exponent, except for extreme ones. CSV has none at all, because spreadsheets and
// text tools do not accept it.
func number(x float64, bits int, format output.Format) string {
	notation := byte('f')
	if a := math.Abs(x); format != output.CSV && (a >= 1e15 || a > 0 && a < 1e-6) {
		notation = 'g'
	}
	return strconv.FormatFloat(x, notation, -1, bits)
}

// cell returns a value as a table cell.
func cell(v any, zone *time.Location, format output.Format) output.Cell {
	switch v := v.(type) {
	case nil:
		return output.Figure("")
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return output.Figure(fmt.Sprint(v))
	case float32:
		return output.Figure(number(float64(v), 32, format))
	case float64:
		return output.Figure(number(v, 64, format))
	case *big.Int:
		return output.Figure(v.String())
	case duckdb.Decimal:
		return output.Figure(v.String())
	case json.Number:
		return output.Figure(v.String())
	case string:
		return output.Name(v)
	case bool:
		return output.Name(strconv.FormatBool(v))
	case []byte:
		return output.Name(hex.EncodeToString(v))
	case time.Time:
		return output.Name(v.In(zone).Format(time.RFC3339Nano))
	case query.Map:
		return output.Name(mapText(v, zone))
	default:
		return output.Name(jsonText(v, zone))
	}
}

func jsonText(v any, zone *time.Location) string {
	line, err := output.Line(jsonValue(v, zone))
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(string(line), "\n")
}

// mapText returns a map like `{a=1, 'b c'=2}`, as the engine prints it.
func mapText(m query.Map, zone *time.Location) string {
	pairs := make([]string, len(m.Keys))
	for i := range pairs {
		pairs[i] = partText(m.Keys[i], zone) + "=" + partText(m.Values[i], zone)
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

func partText(v any, zone *time.Location) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case query.Map:
		return mapText(v, zone)
	case string:
		return quotedPart(v)
	case []any, map[string]any:
		return jsonText(v, zone)
	case time.Time:
		return quotedPart(v.In(zone).Format(time.RFC3339Nano))
	}
	return fmt.Sprint(jsonValue(v, zone))
}

// quotedPart quotes a text that is ambiguous without quotes.
func quotedPart(s string) string {
	if s != "" && s == strings.TrimSpace(s) && !strings.EqualFold(s, "null") && !strings.ContainsAny(s, `'"=,:()[]{}`) {
		return s
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// jsonValue converts a value of the engine to one that JSON can represent.
func jsonValue(v any, zone *time.Location) any {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		return v.In(zone).Format(time.RFC3339Nano)
	case duckdb.Decimal:
		return v.Float64()
	case float64:
		return finite(v)
	case float32:
		return finite(float64(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i], zone)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = jsonValue(v[k], zone)
		}
		return out
	case query.Map:
		out := output.Object{}
		for i, k := range v.Keys {
			name, ok := k.(string)
			if !ok {
				name = jsonText(k, zone)
			}
			out.Names, out.Values = append(out.Names, name), append(out.Values, jsonValue(v.Values[i], zone))
		}
		return out
	case nil, bool, string, json.Number, *big.Int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// finite returns x, or its text if JSON cannot represent it (NaN, infinity).
func finite(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return x
}
