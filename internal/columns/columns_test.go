package columns

import (
	"reflect"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
)

// TestAll_HasEveryField fails for a new field without a column, which would not be stored.
func TestAll_HasEveryField(t *testing.T) {
	notStored := map[string]bool{"Resource": true, "Process": true, "Summed": true}
	named := map[string]bool{}
	for _, of := range []reflect.Type{reflect.TypeFor[methodspan.Row](), reflect.TypeFor[methodspan.Resource](), reflect.TypeFor[methodspan.ProcessStats]()} {
		for f := range of.Fields() {
			name := f.Tag.Get("column")
			if name == "" && !notStored[f.Name] {
				t.Errorf("%v.%s names no column", of, f.Name)
			}
			if name != "" && named[name] {
				t.Errorf("column %s has two fields", name)
			}
			named[name] = true
		}
	}
	for _, c := range All {
		if !named[c.Name] && c.Name != "event_date" {
			t.Errorf("column %s has no field", c.Name)
		}
		delete(named, c.Name)
		want := map[Type]reflect.Kind{String: reflect.String, Int64: reflect.Int64, Int32: reflect.Int32, Double: reflect.Float64, Boolean: reflect.Bool, Bytes16: reflect.Array, Bytes8: reflect.Array, List: reflect.Slice}[c.Type]
		if got := c.GoType(); got != nil && got.Kind() != want && (got.Kind() != reflect.Pointer || got.Elem().Kind() != want) {
			t.Errorf("column %s of type %s is held as %v", c.Name, c.Type.Parquet, got)
		}
	}
	delete(named, "")
	for name := range named {
		t.Errorf("a field names column %s, which the table lacks", name)
	}
}

// TestFieldOf_EqualsValue compares the fields found by offset with those found by name.
func TestFieldOf_EqualsValue(t *testing.T) {
	r := &methodspan.Row{Resource: &methodspan.Resource{}, Process: &methodspan.ProcessStats{}}
	for _, c := range All {
		if c.GoType() != reflect.TypeFor[string]() {
			continue
		}
		*FieldOf[string](c.Name).At(c.Part().In(r)) = "value of " + c.Name
		if got := c.Value(r).String(); got != "value of "+c.Name {
			t.Errorf("%s is %q", c.Name, got)
		}
	}
	*FieldOf[float64]("cpu_limit").At(OfProcess.In(r)) = 2
	if r.Process.CPULimit != 2 || r.Resource.HostID != "value of host_id" || r.Class != "value of class" {
		t.Errorf("row is %+v", r)
	}
}
