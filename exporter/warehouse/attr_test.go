package warehouse

import "go.opentelemetry.io/otel/attribute"

func attrOf(set attribute.Set) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := set.Value(attribute.Key(name))
		return v.AsString(), ok
	}
}
