package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/exporter/warehouse"
	"github.com/corehour/corehour/extension/samplingrates"
	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/processor/adaptivesampler"
	"github.com/corehour/corehour/processor/costattribution"
	"github.com/corehour/corehour/receiver/methodspans"
)

const configurationPage = "docs/reference/configuration.md"

// TestConfigurationPage_ListsKeys generates the tables of the page: keys and defaults from the default
// configurations, meanings from the comments of the structs' fields.
func TestConfigurationPage_ListsKeys(t *testing.T) {
	for _, factory := range []component.Factory{
		methodspans.NewFactory(), adaptivesampler.NewFactory(), samplingrates.NewFactory(), costattribution.NewFactory(), warehouse.NewFactory(),
	} {
		name := factory.Type().String()
		keys := keyLister{t: t, comments: make(map[string]map[string]string)}
		keys.list("", reflect.ValueOf(factory.CreateDefaultConfig()).Elem())
		var b strings.Builder
		b.WriteString("| key | default | meaning |\n|---|---|---|\n")
		for _, r := range keys.rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(r.keys, ", "), strings.Join(r.defaults, ", "), r.meaning)
		}
		compareComputed(t, configurationPage, name, b.String())
	}
}

type keyRow struct {
	keys, defaults []string
	meaning        string
}

// keyLister collects the keys of a configuration.
type keyLister struct {
	t        *testing.T
	comments map[string]map[string]string // by type, then by field
	rows     []keyRow
}

// list adds the keys of a struct. Structs of other modules are one row with their defaults.
func (l *keyLister) list(prefix string, config reflect.Value) {
	typ := config.Type()
	comments := l.commentsOf(typ)
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if !field.IsExported() || tag == "-" {
			continue
		}
		key := cmp.Or(tag, strings.ToLower(field.Name))
		value := config.Field(i)
		if options == "squash" {
			l.group(strings.TrimSuffix(prefix, "::"), prefix, comments[field.Name], value)
			continue
		}
		value, optional := valueOf(value)
		meaning := meaningOf(field.Name, comments, typ)
		if value.Kind() != reflect.Struct {
			l.add(prefix+key, defaultOf(value), meaning, comments[field.Name] == "")
			continue
		}
		if optional && strings.HasPrefix(value.Type().PkgPath(), module+"/") {
			l.add(prefix+key, "not set", meaning, false)
		}
		suffix := "::"
		if field.Type.Kind() == reflect.Slice {
			suffix = "[]::"
		}
		l.group(prefix+key, prefix+key+suffix, meaning, value)
	}
}

// group adds the keys of a nested struct.
func (l *keyLister) group(key, prefix, meaning string, value reflect.Value) {
	if strings.HasPrefix(value.Type().PkgPath(), module+"/") {
		l.list(prefix, value)
		return
	}
	defaults := stockDefaults("", value)
	about := fmt.Sprintf("[keys](https://pkg.go.dev/%s#%s)", value.Type().PkgPath(), value.Type().Name())
	if key == "" {
		key, meaning = "(top level)", "An HTTP server:"
	} else {
		key = "`" + key + "`"
	}
	if n := len(l.rows); n > 0 && l.rows[n-1].keys[0] == key { // the keys of an optional server
		l.rows[n-1].defaults = append(l.rows[n-1].defaults, defaults...)
		l.rows[n-1].meaning += " " + about
		return
	}
	if len(defaults) == 0 {
		defaults = []string{"not set"}
	}
	l.rows = append(l.rows, keyRow{[]string{key}, defaults, strings.TrimSpace(meaning + " " + about)})
}

// add adds a key. A field without a comment shares the row of the field before it.
func (l *keyLister) add(key, value, meaning string, shared bool) {
	if shared {
		if n := len(l.rows); n > 0 && path.Dir(strings.ReplaceAll(key, "::", "/")) == path.Dir(strings.ReplaceAll(strings.Trim(l.rows[n-1].keys[0], "`"), "::", "/")) {
			l.rows[n-1].keys = append(l.rows[n-1].keys, "`"+key[strings.LastIndex(key, ":")+1:]+"`")
			l.rows[n-1].defaults = append(l.rows[n-1].defaults, value)
			return
		}
		l.t.Errorf("the field of %s has no comment", key)
	}
	l.rows = append(l.rows, keyRow{[]string{"`" + key + "`"}, []string{value}, meaning})
}

// valueOf returns the value behind pointers, lists and configoptional.Optional, and whether it can be absent.
func valueOf(v reflect.Value) (_ reflect.Value, optional bool) {
	if get := v.Addr().MethodByName("GetOrInsertDefault"); get.IsValid() {
		optional = !v.Addr().MethodByName("HasValue").Call(nil)[0].Bool()
		return get.Call(nil)[0].Elem(), optional
	}
	if elem := v.Type(); (elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice) && elem.Elem().Kind() == reflect.Struct &&
		strings.HasPrefix(elem.Elem().PkgPath(), module+"/") {
		return reflect.New(elem.Elem()).Elem(), true
	}
	return v, false
}

func defaultOf(v reflect.Value) string {
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Float64 && v.Kind() != reflect.Int {
		if v.Kind() == reflect.Int64 || v.Kind() == reflect.Uint64 {
			return "0"
		}
		return "not set"
	}
	switch d := v.Interface().(type) {
	case time.Duration:
		return shortDuration(d.String())
	case fmt.Stringer:
		return shortDuration(d.String())
	case units.Bytes:
		for i, unit := range []string{"GiB", "MiB"} {
			if size := units.Bytes(1) << (30 - 10*i); d > 0 && d%size == 0 {
				return fmt.Sprintf("%d %s", d/size, unit)
			}
		}
	case float64:
		return strconv.FormatFloat(d, 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

func shortDuration(s string) string {
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// stockDefaults returns the keys of a struct of another module that have a default.
func stockDefaults(prefix string, v reflect.Value) (found []string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if !field.IsExported() || tag == "-" {
			continue
		}
		value := v.Field(i)
		nested := prefix + tag + "::"
		if options == "squash" || tag == "" {
			nested = prefix
		}
		if has := value.Addr().MethodByName("HasValue"); has.IsValid() {
			if !has.Call(nil)[0].Bool() {
				continue
			}
			value = value.Addr().MethodByName("Get").Call(nil)[0].Elem()
		}
		switch {
		case value.IsZero():
		case value.Kind() == reflect.Struct && reflect.PointerTo(value.Type()).Implements(reflect.TypeFor[fmt.Stringer]()):
			found = append(found, fmt.Sprintf("`%s: %s`", prefix+tag, value.Addr().Interface()))
		case value.Kind() == reflect.Struct:
			found = append(found, stockDefaults(nested, value)...)
		default:
			found = append(found, fmt.Sprintf("`%s: %s`", prefix+tag, defaultOf(value)))
		}
	}
	return found
}

// names matches the names that begin a comment, and the verb of a definition.
var names = regexp.MustCompile(`^[A-Z]\w+(?:, [A-Z]\w+)*(?: and [A-Z]\w+)? (?:(?:is|are),? )?`)

// meaningOf returns a field's comment without its name, and with keys for the names of other fields.
func meaningOf(name string, comments map[string]string, typ reflect.Type) string {
	text := names.ReplaceAllString(comments[name], "")
	if text == "" {
		return ""
	}
	for i := range typ.NumField() {
		if key, _, _ := strings.Cut(typ.Field(i).Tag.Get("mapstructure"), ","); key != "" {
			text = regexp.MustCompile(`([a-z,] )`+typ.Field(i).Name+`\b`).ReplaceAllString(text, "$1`"+key+"`")
		}
	}
	return strings.ReplaceAll(strings.ToUpper(text[:1])+text[1:], "|", `\|`)
}

// commentsOf returns the comments of a struct's fields.
func (l *keyLister) commentsOf(typ reflect.Type) map[string]string {
	dir, ours := strings.CutPrefix(typ.PkgPath(), module+"/")
	if !ours {
		return nil
	}
	return l.commentsIn(dir, typ.Name())
}

func (l *keyLister) commentsIn(dir, name string) map[string]string {
	id := dir + "." + name
	if found, ok := l.comments[id]; ok {
		return found
	}
	found := make(map[string]string)
	l.comments[id] = found
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			l.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			switch of := spec.Type.(type) {
			case *ast.StructType:
				for _, field := range of.Fields.List {
					for _, n := range field.Names {
						found[n.Name] = strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
					}
				}
			case *ast.SelectorExpr: // a struct of another package under another name
				at := slices.IndexFunc(file.Imports, func(i *ast.ImportSpec) bool {
					return strings.HasSuffix(i.Path.Value, "/"+of.X.(*ast.Ident).Name+`"`)
				})
				dir := strings.TrimPrefix(strings.Trim(file.Imports[at].Path.Value, `"`), module+"/")
				l.comments[id] = l.commentsIn(dir, of.Sel.Name)
			}
			return false
		})
	}
	return l.comments[id]
}
