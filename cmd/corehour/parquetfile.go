package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// progressEvery is how often a long query says that it still runs.
const progressEvery = 10 * time.Second

// saysItRuns writes a line from time to time until the function it returns is
// called.
func saysItRuns(w io.Writer) (stop func()) {
	done := make(chan struct{})
	var loop sync.WaitGroup
	begin := time.Now()
	loop.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(w, "corehour sql: still running after %s\n", time.Since(begin).Round(time.Second))
			}
		}
	})
	return func() {
		close(done)
		loop.Wait()
	}
}

// given tells whether one of the flags stands on the command line.
func given(f *flag.FlagSet, names ...string) (found bool) {
	f.Visit(func(fl *flag.Flag) {
		for _, n := range names {
			found = found || fl.Name == n
		}
	})
	return found
}

// writeParquet writes the answer to a new file, which is there only once it is
// whole.
func writeParquet(ctx context.Context, w *query.Warehouse, text, path string, stderr io.Writer) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("--output: %s is there already: take another name or remove it", path)
	}
	tmp, err := os.CreateTemp(dirOf(path), ".corehour-*.tmp")
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	stop := saysItRuns(stderr)
	file := &parquetFile{}
	err = w.UserRows(ctx, text, func(columns []query.UserColumn) error { return file.begin(tmp, columns) }, file.add)
	if err == nil {
		err = file.close()
	}
	stop()
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	fmt.Fprintf(stderr, "corehour sql: wrote %d rows to %s\n", file.rows, path)
	return nil
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, os.PathSeparator); i >= 0 {
		return path[:i+1]
	}
	return "."
}

// parquetFile is rows of a shape that the query decides. The type of a row is made
// at run time, one field per column, because a struct keeps their order.
type parquetFile struct {
	writer *pq.GenericWriter[any]
	row    reflect.Value
	rows   int64
}

var fieldTypes = map[string]reflect.Type{
	"BIGINT": reflect.TypeFor[*int64](), "INTEGER": reflect.TypeFor[*int64](), "SMALLINT": reflect.TypeFor[*int64](),
	"TINYINT": reflect.TypeFor[*int64](), "UINTEGER": reflect.TypeFor[*int64](), "INT64": reflect.TypeFor[*int64](),
	"DOUBLE": reflect.TypeFor[*float64](), "FLOAT": reflect.TypeFor[*float64](), "FLOAT64": reflect.TypeFor[*float64](),
	"HUGEINT": reflect.TypeFor[*float64](), "BOOLEAN": reflect.TypeFor[*bool](), "BOOL": reflect.TypeFor[*bool](),
	"BLOB": reflect.TypeFor[[]byte](), "BYTES": reflect.TypeFor[[]byte](),
}

func (p *parquetFile) begin(w io.Writer, columns []query.UserColumn) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		// A comma or a quote would end the name in the tag, a dash would leave the column out.
		names[i] = strings.NewReplacer(",", ";", `"`, "'", "\\", "/", "\n", " ").Replace(c.Name)
		if names[i] == "-" {
			names[i] = "_"
		}
	}
	fields := make([]reflect.StructField, len(columns))
	for i, name := range distinct(names) {
		kind := fieldTypes[columns[i].Type]
		if strings.HasPrefix(columns[i].Type, "DECIMAL") || columns[i].Type == "NUMERIC" {
			kind = reflect.TypeFor[*float64]()
		}
		if kind == nil { // dates, lists and structs as text
			kind = reflect.TypeFor[*string]()
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,zstd"`, name))}
	}
	p.row = reflect.New(reflect.StructOf(fields)).Elem()
	p.writer = pq.NewGenericWriter[any](w, pq.SchemaOf(p.row.Addr().Interface()))
	return nil
}

func (p *parquetFile) add(values []any) error {
	for i, v := range values {
		field := p.row.Field(i)
		field.SetZero()
		if v == nil {
			continue
		}
		into := field
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			into = field.Elem()
		}
		value, err := fitting(v, into.Type())
		if err != nil {
			return err
		}
		into.Set(value)
	}
	p.rows++
	_, err := p.writer.Write([]any{p.row.Addr().Interface()})
	return err
}

func (p *parquetFile) close() error { return p.writer.Close() }

// fitting turns what an engine returned into a value of a field.
func fitting(v any, t reflect.Type) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	switch t.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
		case time.Time:
			value = reflect.ValueOf(v.UTC().Format(time.RFC3339Nano))
		default:
			line, err := output.Line(jsonValue(v, time.UTC))
			if err != nil {
				return value, err
			}
			value = reflect.ValueOf(strings.TrimSpace(string(line)))
		}
	case reflect.Float64:
		switch v := v.(type) {
		case *big.Int:
			f, _ := new(big.Float).SetInt(v).Float64()
			value = reflect.ValueOf(f)
		case interface{ Float64() float64 }:
			value = reflect.ValueOf(v.Float64())
		}
	}
	if !value.CanConvert(t) {
		return value, fmt.Errorf("a value of type %T can't be written as %s", v, t)
	}
	return value.Convert(t), nil
}
