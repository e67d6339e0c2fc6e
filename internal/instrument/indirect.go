package instrument

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
)

// indirect finds the functions of a program that are called other than by their name: methods through an
// interface, and functions and methods whose value is used. The compiler inlines no such call. It works on
// syntax: interfaces match by the names of methods and their numbers of parameters.
type indirect struct {
	types      map[string]*declaredType // by import path and name
	interfaces []*methodSet
	named      map[string]*methodSet // interfaces by import path and name
	values     map[string]bool       // functions whose value is used, and methods as importPath.?.Name
}

// declaredType is a type with its methods, and the types that it embeds or is defined by.
type declaredType struct {
	methods map[string]*function // by name and number of parameters
	embeds  []string
}

// methodSet is the set of methods of an interface.
type methodSet struct {
	methods []string // names with numbers of parameters
	embeds  []string
}

// standardInterfaces are the interfaces of the standard library that programs implement most.
var standardInterfaces = map[string][]string{
	"error": {"Error/0"}, "fmt.Stringer": {"String/0"}, "fmt.GoStringer": {"GoString/0"}, "fmt.Formatter": {"Format/2"},
	"errors.Unwrap": {"Unwrap/0"}, "errors.Is": {"Is/1"}, "errors.As": {"As/1"},
	"io.Reader": {"Read/1"}, "io.Writer": {"Write/1"}, "io.Closer": {"Close/0"}, "io.Seeker": {"Seek/2"},
	"io.ReaderAt": {"ReadAt/2"}, "io.WriterAt": {"WriteAt/2"}, "io.ReaderFrom": {"ReadFrom/1"}, "io.WriterTo": {"WriteTo/1"},
	"io.ByteReader": {"ReadByte/0"}, "io.ByteWriter": {"WriteByte/1"}, "io.RuneReader": {"ReadRune/0"}, "io.StringWriter": {"WriteString/1"},
	"sort.Interface": {"Len/0", "Less/2", "Swap/2"}, "container/heap.Interface": {"Len/0", "Less/2", "Swap/2", "Push/1", "Pop/0"},
	"net/http.Handler": {"ServeHTTP/2"}, "net/http.RoundTripper": {"RoundTrip/1"}, "net/http.ResponseWriter": {"Header/0", "Write/1", "WriteHeader/1"},
	"encoding/json.Marshaler": {"MarshalJSON/0"}, "encoding/json.Unmarshaler": {"UnmarshalJSON/1"},
	"encoding.TextMarshaler": {"MarshalText/0"}, "encoding.TextUnmarshaler": {"UnmarshalText/1"},
	"encoding.BinaryMarshaler": {"MarshalBinary/0"}, "encoding.BinaryUnmarshaler": {"UnmarshalBinary/1"},
	"flag.Value": {"String/0", "Set/1"}, "sync.Locker": {"Lock/0", "Unlock/0"}, "hash.Hash": {"Write/1", "Sum/1", "Reset/0", "Size/0", "BlockSize/0"},
	"context.Context": {"Deadline/0", "Done/0", "Err/0", "Value/1"}, "math/rand.Source": {"Int63/0", "Seed/1"}, "math/rand/v2.Source": {"Uint64/0"},
	"database/sql.Scanner": {"Scan/1"}, "database/sql/driver.Valuer": {"Value/0"},
	"io/fs.FileInfo": {"Name/0", "Size/0", "Mode/0", "ModTime/0", "IsDir/0", "Sys/0"}, "io/fs.FS": {"Open/1"},
	"log/slog.Handler": {"Enabled/2", "Handle/2", "WithAttrs/1", "WithGroup/1"}, "log/slog.LogValuer": {"LogValue/0"},
	"net.Addr": {"Network/0", "String/0"}, "net.Error": {"Error/0", "Timeout/0", "Temporary/0"},
}

func newIndirect() *indirect {
	i := &indirect{types: map[string]*declaredType{}, named: map[string]*methodSet{}, values: map[string]bool{}}
	i.typeOf("sync.Mutex") // programs embed them, and they are no part of an interface
	i.typeOf("sync.RWMutex")
	for name, methods := range standardInterfaces {
		set := &methodSet{methods: methods}
		i.named[name] = set
		i.interfaces = append(i.interfaces, set)
	}
	return i
}

// signed returns the name of a method with its number of parameters.
func signed(name string, t *ast.FuncType) string {
	n := 0
	for _, p := range t.Params.List {
		n += max(1, len(p.Names))
	}
	return name + "/" + strconv.Itoa(n)
}

// importsOf returns the import paths of a file by package name.
func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		importPath, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(importPath)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = importPath
	}
	return imports
}

// addPackage reads the files of a package.
func (i *indirect) addPackage(importPath string, sources []*source) {
	fields, methods, functions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		for _, f := range s.functions {
			if f.decl.Recv == nil {
				functions[f.decl.Name.Name] = true
			} else if len(f.decl.Recv.List) > 0 {
				methods[f.decl.Name.Name] = true
				if name := typeName(f.decl.Recv.List[0].Type, "", nil); name != "" {
					i.typeOf(importPath + name).methods[signed(f.decl.Name.Name, f.decl.Type)] = f
				}
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if t, ok := n.(*ast.StructType); ok {
				for _, field := range t.Fields.List {
					for _, name := range field.Names {
						fields[name.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, s := range sources {
		u := &uses{indirect: i, importPath: importPath, imports: importsOf(s.file), functions: functions, called: map[ast.Expr]bool{}, seen: map[*ast.InterfaceType]bool{}}
		u.isMethod = func(name string) bool { return methods[name] && !fields[name] }
		ast.Inspect(s.file, u.visit)
	}
}

func (i *indirect) typeOf(name string) *declaredType {
	t := i.types[name]
	if t == nil {
		t = &declaredType{methods: map[string]*function{}}
		i.types[name] = t
	}
	return t
}

// typeName returns the import path and name of a type, or "" if it has none. importPath is that of its file.
func typeName(x ast.Expr, importPath string, imports map[string]string) string {
	for {
		switch t := x.(type) {
		case *ast.ParenExpr:
			x = t.X
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			if t.Name == "error" {
				return "error"
			}
			return importPath + "." + t.Name
		case *ast.SelectorExpr:
			if of, ok := t.X.(*ast.Ident); ok {
				return imports[of.Name] + "." + t.Sel.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// uses reads one file.
type uses struct {
	*indirect
	importPath string
	imports    map[string]string
	functions  map[string]bool // of the package
	isMethod   func(name string) bool
	called     map[ast.Expr]bool // operands of calls
	seen       map[*ast.InterfaceType]bool
}

func (u *uses) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		ast.Inspect(n.Type, u.visit)
		if n.Body != nil {
			ast.Inspect(n.Body, u.visit)
		}
		return false
	case *ast.Field: // without its names
		ast.Inspect(n.Type, u.visit)
		return false
	case *ast.TypeSpec:
		u.addType(n)
	case *ast.InterfaceType:
		if !u.seen[n] {
			u.addInterface(n)
		}
	case *ast.CallExpr:
		u.called[operandOf(n.Fun)] = true
	case *ast.SelectorExpr:
		if !u.called[n] {
			u.addValue(n)
		}
		ast.Inspect(n.X, u.visit)
		return false
	case *ast.Ident:
		if u.functions[n.Name] && !u.called[n] {
			u.values[u.importPath+"."+n.Name] = true
		}
	}
	return true
}

// operandOf returns the function of a call without parentheses and type arguments.
func operandOf(x ast.Expr) ast.Expr {
	switch x := ast.Unparen(x).(type) {
	case *ast.IndexExpr:
		return ast.Unparen(x.X)
	case *ast.IndexListExpr:
		return ast.Unparen(x.X)
	default:
		return x
	}
}

func (u *uses) addValue(n *ast.SelectorExpr) {
	if of, ok := n.X.(*ast.Ident); ok && u.imports[of.Name] != "" {
		u.values[u.imports[of.Name]+"."+n.Sel.Name] = true
	}
	if u.isMethod(n.Sel.Name) {
		u.values[u.importPath+".?."+n.Sel.Name] = true
	}
}

func (u *uses) addType(spec *ast.TypeSpec) {
	name := u.importPath + "." + spec.Name.Name
	switch of := spec.Type.(type) {
	case *ast.InterfaceType:
		u.named[name] = u.addInterface(of)
	case *ast.StructType:
		t := u.typeOf(name)
		for _, field := range of.Fields.List {
			if len(field.Names) == 0 {
				t.embeds = append(t.embeds, typeName(field.Type, u.importPath, u.imports))
			}
		}
	default:
		if spec.Assign.IsValid() {
			u.typeOf(name).embeds = append(u.typeOf(name).embeds, typeName(spec.Type, u.importPath, u.imports))
		}
	}
}

func (u *uses) addInterface(t *ast.InterfaceType) *methodSet {
	set := &methodSet{}
	for _, m := range t.Methods.List {
		of, isMethod := m.Type.(*ast.FuncType)
		if !isMethod {
			set.embeds = append(set.embeds, typeName(m.Type, u.importPath, u.imports))
			continue
		}
		for _, name := range m.Names {
			set.methods = append(set.methods, signed(name.Name, of))
		}
	}
	u.seen[t] = true
	u.interfaces = append(u.interfaces, set)
	return set
}

// mark marks the functions that are called indirectly, without accessors: a probe costs a multiple of those.
func (i *indirect) mark(all []*found) {
	for _, k := range all {
		for _, s := range k.sources {
			for _, f := range s.functions {
				f.works = f.works || !f.access && (i.values[f.name] || f.method != "" && i.values[k.pkg.ImportPath+".?."+f.method])
			}
		}
	}
	with := map[string][][]string{} // interfaces by method
	for _, set := range i.interfaces {
		methods := i.methodsOf(set, nil, 0)
		for _, name := range methods {
			with[name] = append(with[name], methods)
		}
	}
	for _, t := range i.types {
		methods := map[string]*function{}
		foreign := i.collect(t, methods, 0)
		for name, f := range methods {
			for _, set := range with[name] {
				if f == nil || f.works || f.access {
					break
				}
				f.works = implements(methods, foreign, set)
			}
		}
	}
}

// isAccessor reports whether the body is empty, returns constants, variables and fields, or sets one.
func isAccessor(body *ast.BlockStmt) bool {
	if body == nil || len(body.List) > 1 {
		return false
	}
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			return !slices.ContainsFunc(s.Results, func(x ast.Expr) bool { return !isValue(x) })
		case *ast.AssignStmt:
			return s.Tok == token.ASSIGN && len(s.Lhs) == 1 && isValue(s.Lhs[0]) && isValue(s.Rhs[0])
		default:
			return false
		}
	}
	return true
}

// isValue reports whether an expression is a constant, a variable, a field, its address or its length.
func isValue(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit, *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isValue(x.X)
	case *ast.ParenExpr:
		return isValue(x.X)
	case *ast.StarExpr:
		return isValue(x.X)
	case *ast.UnaryExpr:
		return x.Op != token.ARROW && isValue(x.X)
	case *ast.CallExpr:
		f, ok := x.Fun.(*ast.Ident)
		return ok && (f.Name == "len" || f.Name == "cap") && len(x.Args) == 1 && isValue(x.Args[0])
	}
	return false
}

// maxEmbedded bounds the depth of embedded types: an invalid program can embed a type in itself.
const maxEmbedded = 8

// methodsOf appends the methods of an interface and of those that it embeds.
func (i *indirect) methodsOf(set *methodSet, methods []string, depth int) []string {
	methods = append(methods, set.methods...)
	for _, name := range set.embeds {
		if of := i.named[name]; of != nil && depth < maxEmbedded {
			methods = i.methodsOf(of, methods, depth+1)
		}
	}
	return methods
}

// collect adds the methods of a type, and those that embedded types promote. It returns true if methods of an
// embedded type are unknown.
func (i *indirect) collect(t *declaredType, methods map[string]*function, depth int) (foreign bool) {
	for name, f := range t.methods {
		if _, ok := methods[name]; !ok {
			methods[name] = f
		}
	}
	for _, name := range t.embeds {
		of := i.types[name]
		switch set := i.named[name]; {
		case set != nil:
			for _, name := range i.methodsOf(set, nil, 0) {
				if _, ok := methods[name]; !ok {
					methods[name] = nil
				}
			}
		case of == nil:
			foreign = true
		case depth < maxEmbedded:
			foreign = i.collect(of, methods, depth+1) || foreign
		}
	}
	return foreign
}

// implements reports whether a type with these methods, and maybe unknown ones, can implement the interface.
func implements(methods map[string]*function, foreign bool, set []string) bool {
	for _, name := range set {
		if _, ok := methods[name]; !ok && !foreign {
			return false
		}
	}
	return true
}
