package instrument

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The compiler's budget for inlining a function, and its cost of a call
// (cmd/compile/internal/inline).
const (
	inlineBudget  = 80
	callCost      = 57
	parameterCost = 17 // cost of a call of a parameter
	closureCost   = 16
	never         = inlineBudget + 1
)

// estimate predicts which functions of a package the compiler inlines. It knows no types of expressions
// and no other package.
type estimate struct {
	types      map[string]bool                     // types declared by the package
	functions  map[string]*ast.FuncDecl            // functions without receiver
	methods    map[string][]*ast.FuncDecl          // methods by name
	interfaces map[string]bool                     // names of methods of the package's interfaces
	imports    map[*ast.FuncDecl]map[string]string // import paths by package name in the file
	costs      map[*ast.FuncDecl]int
	works      map[*ast.FuncDecl]bool // has a loop, or a call that is not inlined
}

// estimateInlined marks the functions of a package that the compiler probably inlines, and those with a loop or
// a call that is not inlined. A probe would cost a multiple of the work of the others.
func estimateInlined(sources []*source) {
	e := &estimate{
		types: map[string]bool{}, functions: map[string]*ast.FuncDecl{}, methods: map[string][]*ast.FuncDecl{},
		interfaces: map[string]bool{"Error": true}, imports: map[*ast.FuncDecl]map[string]string{}, costs: map[*ast.FuncDecl]int{}, works: map[*ast.FuncDecl]bool{},
	}
	for _, s := range sources {
		e.addFile(s.file)
	}
	for _, s := range sources {
		for _, f := range s.functions {
			f.inline = f.decl.Body != nil && !f.isMain && e.cost(f.decl) <= inlineBudget
			f.works = !f.inline || e.works[f.decl]
		}
	}
}

func (e *estimate) addFile(file *ast.File) {
	imports := importsOf(file)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			e.imports[d] = imports
			if d.Recv == nil {
				e.functions[d.Name.Name] = d
			} else {
				e.methods[d.Name.Name] = append(e.methods[d.Name.Name], d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					e.addType(spec)
				}
			}
		}
	}
}

func (e *estimate) addType(spec *ast.TypeSpec) {
	e.types[spec.Name.Name] = true
	if of, ok := spec.Type.(*ast.InterfaceType); ok {
		for _, m := range of.Methods.List {
			for _, name := range m.Names {
				e.interfaces[name.Name] = true
			}
		}
	}
}

// cost returns the compiler's inlining cost of the function, or never if it does not inline it.
func (e *estimate) cost(decl *ast.FuncDecl) int {
	if cost, ok := e.costs[decl]; ok {
		return cost
	}
	e.costs[decl] = never // during the computation, because a recursive function is not inlined
	if decl.Body != nil && !hasDirective(decl, "//go:noinline") {
		e.costs[decl] = e.costOfBody(decl)
	}
	return e.costs[decl]
}

// body adds up the cost of a function.
type body struct {
	*estimate
	imports    map[string]string
	parameters map[string]bool
	cost       int
	works      bool
}

func (e *estimate) costOfBody(decl *ast.FuncDecl) int {
	b := &body{estimate: e, imports: e.imports[decl], parameters: map[string]bool{}}
	for _, p := range decl.Type.Params.List {
		for _, name := range p.Names {
			b.parameters[name.Name] = true
		}
	}
	ast.Inspect(decl.Body, b.visit)
	e.works[decl] = b.works
	return min(b.cost, never)
}

// visit adds the cost of a node, and reports whether its children are to be visited.
func (b *body) visit(n ast.Node) bool {
	switch n := n.(type) {
	case nil, *ast.BlockStmt, *ast.ExprStmt, *ast.ParenExpr, *ast.DeclStmt, *ast.GenDecl, *ast.ValueSpec, *ast.Comment, *ast.CommentGroup:
		return true
	case *ast.FuncLit: // another function, whose body does not count
		b.cost += closureCost
		return false
	case *ast.DeferStmt, *ast.GoStmt, *ast.SelectStmt:
		b.cost = never
	case *ast.ForStmt, *ast.RangeStmt:
		b.works = true
	case *ast.CallExpr:
		b.visitCall(n)
		return false
	case *ast.SelectorExpr: // one node, and one for its operand, unless that is a package
		b.cost++
		if b.packageOf(n.X) == "" {
			ast.Inspect(n.X, b.visit)
		}
		return false
	case *ast.BranchStmt:
		b.works = b.works || n.Tok == token.GOTO
		if n.Tok == token.GOTO || n.Label != nil {
			b.cost++
		}
	}
	b.cost++
	return b.cost <= inlineBudget
}

// visitCall adds the cost of a call or conversion.
func (b *body) visitCall(call *ast.CallExpr) {
	b.cost++
	for _, argument := range call.Args {
		ast.Inspect(argument, b.visit)
	}
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.InterfaceType, *ast.FuncType, *ast.StarExpr: // a conversion
	case *ast.Ident:
		switch {
		case f.Name == "recover":
			b.cost = never
		case b.parameters[f.Name]:
			b.works = true
			b.cost += 1 + parameterCost
		case b.functions[f.Name] != nil:
			b.cost += 1 + b.costOfCallees(b.functions[f.Name])
		case !b.types[f.Name] && types.Universe.Lookup(f.Name) == nil:
			b.cost += 1 + b.costOfCallees()
		}
	case *ast.SelectorExpr:
		if importPath := b.packageOf(f.X); importPath != "" {
			if !intrinsic(importPath, f.Sel.Name) {
				b.cost += 1 + b.costOfCallees()
			}
			return
		}
		ast.Inspect(f.X, b.visit)
		switch of, ok := f.X.(*ast.SelectorExpr); {
		case ok && b.packageOf(of.X) == "encoding/binary": // methods of a byte order: one instruction on machines with unaligned access
		case b.interfaces[f.Sel.Name]:
			b.cost += b.costOfCallees()
		default:
			b.cost += b.costOfCallees(b.methods[f.Sel.Name]...)
		}
	default:
		ast.Inspect(f, b.visit)
		b.cost += b.costOfCallees()
	}
}

// packageOf returns the path of the package that an expression names, or "".
func (b *body) packageOf(x ast.Expr) string {
	if name, ok := x.(*ast.Ident); ok && !b.parameters[name.Name] {
		return b.imports[name.Name]
	}
	return ""
}

// costOfCallees returns the compiler's cost of a call of one of the functions: the cost of their bodies if
// it inlines them. Without functions the callee is unknown.
func (b *body) costOfCallees(callees ...*ast.FuncDecl) int {
	cost := 0
	for _, callee := range callees {
		if cost = max(cost, b.estimate.cost(callee)); cost == never {
			break
		}
	}
	if len(callees) == 0 || cost == never {
		b.works = true
		return callCost
	}
	for _, callee := range callees {
		b.works = b.works || b.estimate.works[callee]
	}
	return cost
}

// intrinsic reports whether the compiler replaces the function by instructions, or by almost nothing.
func intrinsic(importPath, name string) bool {
	switch importPath {
	case "unsafe", "math/bits", "sync/atomic":
		return true
	case "math":
		return strings.HasSuffix(name, "bits") || name == "Abs" || name == "Sqrt" || name == "Copysign"
	}
	return false
}

// markInlined asks the compiler which functions it inlines. It compiles the build again, unless the
// result is in the build cache. It returns notes that name packages for which the estimate is kept.
func markInlined(ctx context.Context, c *Command, p *program, all []*found) (notes []string, err error) {
	args := append(inDir(c.dir, "build"), c.list...)
	for _, k := range p.packages {
		args = append(args, "-gcflags="+k.ImportPath+"=-m")
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, "-o", os.DevNull, "--"), c.patterns...)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("--exact: go build: %w: %s", err, lastLines(text))
	}
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return nil, err
	}
	says := readCompiler(string(text), dir)
	for _, k := range all {
		if !says.mark(k) {
			notes = append(notes, "--exact: the compiler says nothing of "+k.pkg.ImportPath+", so its functions are estimated: go clean -cache makes it compile the package again")
		}
	}
	return notes, nil
}

// compilerSays holds the positions of functions that the compiler inlines, and the directories of the
// compiled packages.
type compilerSays struct {
	can  map[string]bool // by path:line
	dirs map[string]bool
}

func readCompiler(text, dir string) compilerSays {
	says := compilerSays{can: map[string]bool{}, dirs: map[string]bool{}}
	for l := range strings.Lines(text) {
		parts := strings.SplitN(l, ":", 4)
		if len(parts) < 4 {
			continue
		}
		path := parts[0]
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		says.dirs[filepath.Dir(path)] = true
		if name, ok := strings.CutPrefix(parts[3], " can inline "); ok && !wraps(name) {
			says.can[path+":"+parts[1]] = true
		}
	}
	return says
}

// mark marks the functions of a package that the compiler inlines. It returns false if the compiler
// printed nothing for a package in which the estimate inlines some: the build cache can lose the output of
// the compiler and keep its result.
func (says compilerSays) mark(k *found) bool {
	printed, estimated := says.dirs[k.pkg.Dir], false
	for _, s := range k.sources {
		for _, f := range s.functions {
			estimated = estimated || f.inline
			if printed {
				f.inline = says.can[s.path+":"+strconv.Itoa(f.line)]
			}
		}
	}
	return printed || !estimated
}

// wraps reports whether a function in the compiler's output is a generated wrapper that instantiates a
// generic one. The compiler always inlines those.
func wraps(name string) bool {
	return strings.Contains(name, "[") && !strings.Contains(name, "[go.shape.")
}

// lastLines returns the last lines of a command's output.
func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
