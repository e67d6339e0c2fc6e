package instrument

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// function is a function of a package that can get a probe.
type function struct {
	name   string // shop/cart.(*Cart).Total
	normal methodspan.Function
	line   int
	brace  int    // offset after its opening brace
	inline bool   // the compiler can inline it
	works  bool   // it has a loop or a call that is not inlined, or is called indirectly and is no accessor
	access bool   // it only returns or sets a value
	method string // its name if it has a receiver
	reason string // why it cannot have a probe; "" = it can
	index  int    // index of its probe in the package; -1 = none
	isMain bool   // it is where the program begins and ends

	decl *ast.FuncDecl // nil once the package is read
}

// changed reports whether the function gets a statement.
func (f *function) changed() bool { return f.index >= 0 || f.isMain }

// source is a file with its functions.
type source struct {
	path      string
	text      []byte
	functions []*function
	file      *ast.File // nil once the package is read
}

// Reasons why a function has no probe.
const (
	noBody    = "it has no body"
	isInit    = "it is an init function, or has no name"
	pragma    = "a compiler directive forbids it"
	hasProbe  = "it has a probe already"
	unparsed  = "its file does not parse"
	inlinable = "the compiler inlines it, or it only returns or sets a value"
	notNamed  = "the method file does not name it"
)

// found is the result of find for a package.
type found struct {
	pkg      *pkg
	sources  []*source
	unparsed []string // files
	unlocks  []string // functions that call runtime.UnlockOSThread
}

// find parses the files of a package and adds them to i. ends means that the program ends with function main,
// which is not so if a test calls it.
func find(k *pkg, ends bool, i *indirect) *found {
	f := &found{pkg: k}
	for _, path := range k.files() {
		text, err := os.ReadFile(path)
		if err != nil {
			f.unparsed = append(f.unparsed, path)
			continue
		}
		s, unlocks, err := parse(k.ImportPath, path, text)
		if err != nil {
			f.unparsed = append(f.unparsed, path)
			continue
		}
		for _, fn := range s.functions {
			fn.isMain = fn.isMain && ends
		}
		f.sources = append(f.sources, s)
		f.unlocks = append(f.unlocks, unlocks...)
	}
	estimateInlined(f.sources)
	i.addPackage(k.ImportPath, f.sources)
	for _, s := range f.sources {
		for _, fn := range s.functions {
			fn.decl = nil
		}
		s.file = nil
	}
	return f
}

func parse(importPath, path string, text []byte) (s *source, unlocks []string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	s = &source{path: path, text: text, file: file}
	linked := linknames(file)
	byHand := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+sdkPath+`"` })
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := &function{
			name:  nameOf(importPath, decl),
			line:  set.PositionFor(decl.Pos(), false).Line,
			index: -1,
			decl:  decl,
		}
		if decl.Recv != nil {
			f.method = decl.Name.Name
		}
		f.normal = methodspan.ParseFunction(f.name)
		f.normal.Signature = signatureOf(decl.Type)
		f.isMain = file.Name.Name == "main" && decl.Recv == nil && decl.Name.Name == "main"
		f.access = isAccessor(decl.Body)
		f.reason = obstacle(decl, linked, byHand)
		if decl.Body != nil {
			f.brace = set.PositionFor(decl.Body.Lbrace, false).Offset + 1
		}
		if decl.Body != nil && calls(decl.Body, "UnlockOSThread") {
			unlocks = append(unlocks, f.name)
		}
		s.functions = append(s.functions, f)
	}
	return s, unlocks, nil
}

// nameOf returns a function's name in the runtime's form, without type parameters.
func nameOf(importPath string, decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return importPath + "." + decl.Name.Name
	}
	receiver, pointer := decl.Recv.List[0].Type, false
	for {
		switch t := receiver.(type) {
		case *ast.ParenExpr:
			receiver = t.X
		case *ast.StarExpr:
			receiver, pointer = t.X, true
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			if pointer {
				return importPath + ".(*" + t.Name + ")." + decl.Name.Name
			}
			return importPath + "." + t.Name + "." + decl.Name.Name
		default:
			return importPath + ".?." + decl.Name.Name
		}
	}
}

// maxSignature bounds the signature of a function in the table of a binary. No entry can select a
// function by a longer one.
const maxSignature = 512

// signatureOf returns the types of a function's parameters and results as written in the source:
// `(context.Context, ...string) (Money, error)`.
func signatureOf(t *ast.FuncType) string {
	text := types.ExprString(&ast.FuncType{Params: withoutNames(t.Params), Results: withoutNames(t.Results)})
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "func")), " ")
	if len(text) > maxSignature {
		return ""
	}
	return text
}

func withoutNames(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	nameless := &ast.FieldList{}
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			nameless.List = append(nameless.List, &ast.Field{Type: field.Type})
		}
	}
	return nameless
}

// obstacle returns the reason why the function cannot have a probe.
func obstacle(decl *ast.FuncDecl, linked map[string]bool, byHand bool) string {
	switch {
	case decl.Body == nil:
		return noBody
	case decl.Name.Name == "_" || decl.Name.Name == "init" && decl.Recv == nil:
		return isInit
	case linked[decl.Name.Name] && decl.Recv == nil || hasDirective(decl, "//go:nosplit"):
		return pragma
	case byHand && (calls(decl.Body, "Begin") || calls(decl.Body, "BeginContext")):
		return hasProbe
	}
	return ""
}

func hasDirective(decl *ast.FuncDecl, directive string) bool {
	if decl.Doc == nil {
		return false
	}
	for _, c := range decl.Doc.List {
		if word, _, _ := strings.Cut(c.Text, " "); word == directive {
			return true
		}
	}
	return false
}

// linknames returns the functions of a file with a go:linkname directive: their callers need not be Go
// code that can run a probe.
func linknames(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//go:linkname ") {
				continue
			}
			if words := strings.Fields(c.Text); len(words) >= 2 {
				names[words[1]] = true
			}
		}
	}
	return names
}

// calls reports whether the code calls a function or method with this name, of any type or package.
func calls(body ast.Node, name string) bool {
	called := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == name {
				called = true
			}
		}
		return !called
	})
	return called
}

// changed reports whether any function of the file gets a statement.
func (s *source) changed() bool { return slices.ContainsFunc(s.functions, (*function).changed) }
